// Only adds: `/` puts the cursor into the search field, a phone's strip of pages shows where one is, lists show what
// happens meanwhile, and an agent's reply appears as it is written.
// Every page works without it.
const here = document.querySelector("nav [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - 40;
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector("[role=search] input[type=search]");
  if (field) { event.preventDefault(); field.focus(); field.select(); }
});
// A page that has changed shows it at once where nobody reads, types or points, and offers it otherwise.
const main = document.querySelector("main[data-live]");
if (main) {
  const CALM_MS = 5000, SETTLE_MS = 300, RETRY_MS = 5000;
  const names = new URL(main.dataset.live, location).searchParams.getAll("name");
  const note = document.createElement("p");
  note.className = "live";
  note.setAttribute("role", "status");
  document.body.append(note);
  const folds = () => [...main.querySelectorAll("details")].map((each) => each.open).join();
  const items = (root) => [...root.querySelectorAll("li, article, tbody tr")].map((each) => each.textContent);
  let shown = main.textContent, folded = folds(), touched = -CALM_MS, edited = false, since = "", source, timer;
  for (const kind of ["pointermove", "pointerdown", "keydown", "scroll"])
    addEventListener(kind, () => { touched = performance.now(); }, { passive: true });
  main.addEventListener("input", () => { edited = true; });
  const busy = () => edited || performance.now() - touched < CALM_MS || scrollY > 0 || folds() !== folded
    || main.contains(document.activeElement) || !getSelection().isCollapsed;
  const swap = (page) => {
    note.replaceChildren();
    main.replaceChildren(...page.querySelector("main").childNodes);
    document.querySelector("nav").replaceChildren(...page.querySelector("nav").childNodes);
    [shown, folded, edited] = [main.textContent, folds(), false];
  };
  const look = async () => {
    const answer = await fetch(location.href).catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html"), fresh = page.querySelector("main");
    if (fresh.textContent === shown) return note.replaceChildren();
    if (!busy()) return swap(page);
    const known = new Set(items(main)), added = items(fresh).filter((each) => !known.has(each)).length;
    const button = document.createElement("button");
    button.textContent = `${added ? `${added} new` : "Changed"} – show`;
    button.addEventListener("click", () => swap(page));
    note.replaceChildren(button);
  };
  const connect = () => {
    source = new EventSource(main.dataset.live);
    source.onopen = () => { if (since) note.replaceChildren(); since = ""; look(); };
    source.onerror = () => {
      since ||= new Date().toTimeString().slice(0, 5);
      note.textContent = `Not live since ${since}`;
      if (source.readyState === EventSource.CLOSED) setTimeout(follow, RETRY_MS);
    };
    for (const name of names) source.addEventListener(name, () => { clearTimeout(timer); timer = setTimeout(look, SETTLE_MS); });
  };
  // Only the page in front listens: a browser has six connections for a server.
  const follow = () => { source?.close(); if (!document.hidden) connect(); };
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => source?.close());
  follow();
}
const turn = (talk, role, who) => {
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
document.addEventListener("submit", async (event) => {
  const talk = event.target.closest("form[data-say]");
  if (!talk) return;
  event.preventDefault();
  const form = new FormData(talk), button = talk.querySelector("button");
  button.disabled = true;
  turn(talk, "user", "You").textContent = form.get("text");
  const reply = turn(talk, "assistant", talk.dataset.agent);
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
