// Only adds: `/` puts the cursor into the search field. Every page works without it.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector("[role=search] input[type=search]");
  if (field) { event.preventDefault(); field.focus(); field.select(); }
});
