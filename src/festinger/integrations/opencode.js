// Written by `festinger connect opencode`; `festinger disconnect opencode` removes it.
// Passes the events of a session to `festinger-hook`, and adds what it answers to the prompt as a synthetic part.
import { spawn } from "node:child_process"

const HOOK = __HOOK__

// A first message waits for two hooks, which together take no longer than one.
const HURRIED = { FESTINGER_HOOK_SECONDS: "0.1" }

function tell(name, sessionID, directory, fields = {}, hurry = {}) {
  return new Promise((resolve) => {
    const env = { ...hurry, ...process.env }
    const child = spawn(HOOK[0], HOOK.slice(1), { stdio: ["pipe", "pipe", "ignore"], env })
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
      const fields = { prompt: textOf(output.parts) }
      const isFirst = !briefed.has(sessionID)
      briefed.add(sessionID)
      // One after the other, so that the notes leave out what the brief has shown.
      const shown = isFirst ? [await tell("SessionStart", sessionID, directory, {}, HURRIED)] : []
      shown.push(await tell("UserPromptSubmit", sessionID, directory, fields, isFirst ? HURRIED : {}))
      for (const text of shown.filter(Boolean)) {
        // Parts are replayed in the order of their ids; an id greater than that of the last part comes after it.
        const id = `${output.parts.at(-1)?.id ?? "prt_"}f`
        output.parts.push({ id, messageID: output.message.id, sessionID, type: "text", synthetic: true, text })
      }
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
