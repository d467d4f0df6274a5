// Written by `festinger connect opencode`; `festinger disconnect opencode` removes it.
// Passes the events of a session to `festinger-hook`, and adds what it answers to the prompt as a synthetic part.
import { spawn } from "node:child_process"

const HOOK = __HOOK__

function tell(name, sessionID, directory, fields = {}) {
  return new Promise((resolve) => {
    const child = spawn(HOOK[0], HOOK.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
    let out = ""
    child.on("error", () => resolve(""))
    child.stdin.on("error", () => {})
    child.stdout.on("data", (data) => (out += data))
    child.on("close", () => {
      try {
        resolve(JSON.parse(out).hookSpecificOutput.additionalContext)
      } catch {
        resolve("")
      }
    })
    child.stdin.end(JSON.stringify({ hook_event_name: name, session_id: sessionID, cwd: directory, ...fields }))
  })
}

const textOf = (parts) =>
  parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")

export const Festinger = async ({ client, directory }) => {
  const briefed = new Set()
  const children = new Set() // sessions of subagents: no person speaks there
  return {
    "chat.message": async ({ sessionID }, output) => {
      if (children.has(sessionID)) return
      // A first message brings its brief along: one hook, and one wait.
      const name = briefed.has(sessionID) ? "UserPromptSubmit" : "SessionStart"
      briefed.add(sessionID)
      const text = await tell(name, sessionID, directory, { prompt: textOf(output.parts) })
      if (!text) return
      // Parts are replayed in the order of their ids; an id greater than that of the last part comes after it.
      const id = `${output.parts.at(-1)?.id ?? "prt_"}f`
      output.parts.push({ id, messageID: output.message.id, sessionID, type: "text", synthetic: true, text })
    },
    "experimental.session.compacting": async ({ sessionID }) => {
      briefed.delete(sessionID)
      await tell("PreCompact", sessionID, directory)
    },
    event: async ({ event }) => {
      if (event.type === "session.created" && event.properties.info.parentID) children.add(event.properties.info.id)
      if (event.type === "session.deleted") await tell("SessionEnd", event.properties.info.id, directory)
      if (event.type !== "session.idle") return
      const sessionID = event.properties.sessionID
      if (children.has(sessionID)) return
      const { data } = await client.session.messages({ path: { id: sessionID } })
      const last = (data ?? []).findLast((message) => message.info.role === "assistant")
      if (last) {
        const fields = { last_assistant_message: textOf(last.parts), model: last.info.modelID }
        await tell("Stop", sessionID, directory, fields)
      }
    },
  }
}
