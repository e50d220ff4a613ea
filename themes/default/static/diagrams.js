// Draws diagrams with the mermaid that the site brings. What it draws becomes a
// picture, in which nothing runs; where it cannot draw, the source stays.
(async () => {
	const { mermaid } = window;
	const blocks = mermaid ? [...document.querySelectorAll("pre.mermaid")] : [];
	if (!blocks.length) return;
	const chosen = document.documentElement.dataset.theme;
	const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	mermaid.initialize({
		startOnLoad: false,
		securityLevel: "strict",
		suppressErrorRendering: true,
		htmlLabels: false,
		flowchart: { htmlLabels: false },
		theme: isDark ? "dark" : "default",
	});
	for (const [number, block] of blocks.entries()) {
		try {
			const { svg } = await mermaid.render(`diagram${number}`, block.textContent);
			const [, width, height] = svg.match(/viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/) || [];
			const picture = new Image(width && Math.ceil(width), height && Math.ceil(height));
			picture.className = "diagram";
			picture.alt = block.textContent;
			picture.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
			await picture.decode();
			(block.closest(".copyable") || block).replaceWith(picture);
		} catch {
			// A mistake in the diagram: its source says more than a message.
		}
	}
})();
