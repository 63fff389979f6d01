/* What scrolls can be reached with the keyboard, landmarks and pages have names, pictures that are links say where they lead. */
document.addEventListener("DOMContentLoaded", () => {
  for (const each of document.querySelectorAll("div.highlight pre, .table-wrapper, .sidebar-scroll, .toc-scroll")) {
    if (each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight) each.tabIndex = 0;
  }
  for (const [kind, name] of [[".sidebar-drawer", "Site"], [".toc-drawer", "On this page"]]) {
    document.querySelector(`aside${kind}`)?.setAttribute("aria-label", name);
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  if (!document.querySelector("h1")) {
    const title = document.createElement("h1");
    title.textContent = document.title.split(" - ")[0];
    document.querySelector("article, [role=main]")?.prepend(title);
  }
});
