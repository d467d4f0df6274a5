// Only adds: `/` puts the cursor into the search field, a phone's strip of pages shows where one is, and an agent's reply
// appears as it is written.
// Every page works without it.
const here = document.querySelector("nav [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - 40;
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector("[role=search] input[type=search]");
  if (field) { event.preventDefault(); field.focus(); field.select(); }
});
const talk = document.querySelector("form[data-say]");
const turn = (role, who) => {
  const made = document.createElement("article"), caption = document.createElement("p"), words = document.createElement("p");
  made.className = `turn ${role}`; caption.className = "caption"; caption.textContent = who; words.className = "words";
  made.append(caption, words);
  talk.before(made);
  return words;
};
const read = async (answer, heard) => {
  if (!answer.ok) return heard("error", await answer.json());
  const parts = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await parts.read(); !part.done; part = await parts.read()) {
    const lines = (rest + part.value).split("\n\n");
    rest = lines.pop();
    for (const line of lines) {
      const [, name, data] = line.match(/^event: (.*)\ndata: (.*)$/);
      heard(name, JSON.parse(data));
    }
  }
};
if (talk) talk.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = new FormData(talk), button = talk.querySelector("button");
  button.disabled = true;
  turn("user", "You").textContent = form.get("text");
  const reply = turn("assistant", talk.dataset.agent);
  reply.setAttribute("role", "status");
  reply.textContent = "…";
  let said = "", ended = false;
  const fail = (why) => { ended = true; reply.className = "words fail"; reply.textContent = why; button.disabled = false; };
  try {
    const headers = { "content-type": "application/json", accept: "text/event-stream", "x-festinger-token": form.get("token") };
    const body = JSON.stringify({ text: form.get("text"), new: form.get("new") === "yes" });
    await read(await fetch(talk.dataset.say, { method: "POST", headers, body }), (name, data) => {
      if (name === "piece") reply.textContent = said += data.text;
      if (name === "error") fail(data.error.message);
      if (name === "reply") { ended = true; location.reload(); }
    });
  } catch { /* told below */ }
  if (!ended) fail("The connection ended before the reply. What you wrote may be kept; load the page again to see.");
});
