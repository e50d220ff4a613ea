// A diagram is drawn for the screen; where its reader has chosen, for that.
(() => {
const page = document.documentElement;

function tint() {
	const { theme } = page.dataset;
	if (!theme) return;
	for (const one of document.querySelectorAll(".diagram source")) one.media = theme === "dark" ? "all" : "not all";
}

new MutationObserver(tint).observe(page, { attributeFilter: ["data-theme"] });
addEventListener("wikisync:article", tint);
tint();
})();
