// Only adds: `/` puts the cursor into the search field, and a phone's strip of pages shows where one is.
// Every page works without it.
const here = document.querySelector("nav [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - 40;
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector("[role=search] input[type=search]");
  if (field) { event.preventDefault(); field.focus(); field.select(); }
});
