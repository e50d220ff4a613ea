// What a page of the preview needs once it is no longer as it was loaded: it is brought
// up to date and the reader stays, and what a person does in it is loaded.  `page` is
// what client.js made.
const SHEET = `
	.panel { width: 100%; max-width: 900px; align-self: center; max-height: 60vh; overflow: auto; border-left: 6px solid #c1121f; border-radius: 6px; padding: 12px 16px; }
	.panel.calm { border-left-color: #8a5a00; }
	h2 { font-size: 0.9375rem; margin: 0 0 6px; }
	dl, dd, p { margin: 0; }
	dt { font-family: ui-monospace, monospace; font-weight: 600; margin-top: 8px; overflow-wrap: anywhere; }
	dd { white-space: pre-wrap; overflow-wrap: anywhere; }
	.hint { color: #55555e; } .close { float: right; }
	@media (prefers-color-scheme: dark) { .hint { color: #b5b5c0; } }
`;

export function begin(page) {
	const { KEPT, MISSING, WORDS, own, all, make, places, goTo, root, host, word, line, edit, parts, sourcesOf } = page;
	let renewing = Promise.resolve();
	let { sources } = page;
	let dismissed = "";
	let marks = {};

	// The reader stays ---------------------------------------------------------------

	function placeNow() {
		const anchor = all("main [id]").findLast((one) => one.getBoundingClientRect().top < 5);
		const typed = places.typed();
		return {
			at: location.pathname,
			y: scrollY,
			id: anchor?.id,
			below: anchor && anchor.getBoundingClientRect().top,
			inside: places.scrolled().map((one, index) => [index, one.scrollTop]).filter(([, top]) => top > 0),
			open: places.foldable().map((one) => one.open),
			typed: typed.map((one) => one.value),
			focus: typed.indexOf(document.activeElement),
		};
	}

	// A link that was just followed is not taken back; one to a file leaves the page here.
	const LEAVING_MS = 5000;

	function reload() {
		const rest = page.leftAt + LEAVING_MS - performance.now();
		if (rest > 0) return void setTimeout(reload, rest);
		history.scrollRestoration = "manual";
		try {
			if (own.key !== MISSING) sessionStorage.setItem(KEPT, JSON.stringify(placeNow()));
		} catch {
			// Storage is switched off: the browser keeps the place as well as it can.
		}
		location.reload();
	}

	// Most saves change nothing but the text of the page and the navigation beside it.
	// Then they alone are replaced, unless a script works on them without saying
	// (data-live) that it will again.
	async function renew() {
		const answer = await fetch(location.href, { cache: "no-store" }).catch(() => null);
		const text = answer && (await answer.text().catch(() => null));
		// where no whole answer came, as at its end, what is new is asked for at the server's next word;
		// somebody who writes meanwhile has all renewed at the end
		if (text === null || answer.status === 503) return page.again();
		if (page.writer) return;
		const other = new DOMParser().parseFromString(text, "text/html");
		const script = other.querySelector("script[data-frame]");
		if (!script || isElsewhere || answer.redirected || script.dataset.run !== own.run || script.dataset.frame !== own.frame) return reload();
		own.key = script.dataset.key;
		exchange(other);
	}

	// Blocks that are the same stay, and with them what the reader has selected there.
	function patch(old, now) {
		const [was, are] = [[...old.childNodes], [...now.childNodes]];
		let start = 0;
		while (start < Math.min(was.length, are.length) && was[start].isEqualNode(are[start])) start++;
		let end = 0;
		while (end < Math.min(was.length, are.length) - start && was.at(-1 - end).isEqualNode(are.at(-1 - end))) end++;
		const [gone, come] = [was.slice(start, was.length - end), are.slice(start, are.length - end)];
		const [one, other] = [gone[0], come[0]];
		if (gone.length === 1 && come.length === 1 && one.childElementCount && one.cloneNode().isEqualNode(other.cloneNode())) return patch(one, other);
		for (const node of come) old.insertBefore(node, gone[0] ?? was[was.length - end] ?? null);
		for (const node of gone) node.remove();
	}

	function exchange(other, place = placeNow()) {
		const fresh = sourcesOf(other);
		parts(document).forEach((part, index) => {
			if (fresh[index] === sources[index]) return;
			patch(part, parts(other)[index]);
			if (part.matches("main")) dress();
		});
		document.title = other.title;
		sources = fresh;
		mark();
		if (place) goTo(place);
	}

	// What is in the page now is another text than the server gave it.
	const touch = () => (sources = []);

	function dress() {
		touch();
		document.dispatchEvent(new Event("wikisync:article", { bubbles: true }));
		mark();
	}

	function mark() {
		page.free();
		const links = all("nav a[href]").filter((one) => !one.hash);
		// a wiki's name leads to the same page as the first one below it
		const lasts = new Map(links.map((one) => [`${one.closest("nav").className} ${one.pathname}`, one]));
		for (const link of links) {
			const isLast = lasts.get(`${link.closest("nav").className} ${link.pathname}`) === link;
			const state = isLast ? marks[decodeURIComponent(link.pathname).slice(1)] : undefined;
			const mark = link.querySelector("wikisync-mark");
			if (mark?.dataset.state === state) continue;
			mark?.remove();
			if (!state) continue;
			const sign = make("wikisync-mark", { title: WORDS[state], textContent: state === "waiting" ? " ○" : " ●" });
			sign.setAttribute("role", "img");
			sign.setAttribute("aria-label", WORDS[state]);
			sign.dataset.state = state;
			link.append(sign);
		}
	}

	// The panel over the bar ---------------------------------------------------------

	root.adoptedStyleSheets = [...root.adoptedStyleSheets, page.sheet(SHEET)];
	const list = make("dl");
	const title = make("h2");
	const close = make("button", { type: "button", className: "close", textContent: "Close" });
	const panel = make("section", { className: "panel", role: "alert", hidden: true }, close, title, list);
	page.dock.prepend(panel);
	close.onclick = () => {
		dismissed = panel.dataset.shown;
		isTold = false;
		panel.hidden = true;
	};
	addEventListener("keydown", (event) => {
		if (event.key === "Escape" && !panel.hidden) close.click();
	});

	function showProblems(heading, problems, isCalm) {
		const shown = JSON.stringify([heading, problems]);
		title.textContent = heading;
		panel.classList.toggle("calm", isCalm);
		panel.dataset.shown = shown;
		list.replaceChildren(...problems.flatMap(({ where, message, hint }) => [
			make("dt", { textContent: where, hidden: !where }),
			make("dd", { textContent: message }),
			make("dd", { className: "hint", textContent: hint, hidden: !hint }),
		]));
		panel.hidden = !problems.length || shown === dismissed;
		if (!problems.length) dismissed = "";
	}

	// An answer to what a person did stays until it is closed, or a page has a problem.
	let isTold = false;

	function tell(...what) {
		isTold = true;
		showProblems(...what);
	}

	const fail = (heading, message, hint) => tell(heading, [{ where: "", message, hint }], true);

	// What a person does is loaded when it is asked for --------------------------------

	const pageOf = () => ({ own, root, host, make, exchange, touch, dress, moveTo, showProblems: tell, left, write, canWrite: () => Boolean(own.write && page.last.file && !page.writer), line: () => [word, line].map((one) => one.textContent).filter(Boolean).join("; "), hasFile: () => Boolean(page.last.file) });

	async function view(act) {
		try {
			const { Desk } = await import("./desk.js");
			const desk = new Desk(pageOf());
			const acting = desk.trying(() => act(desk));
			// what is typed into a question would go with the page
			renewing = renewing.then(() => acting).catch(() => {});
			await acting;
		} catch {
			fail("This was not done", "the preview does not answer", "start it again, then reload the page");
		}
	}

	// A box is ticked in the text of the page: of the file, or of the editor.
	const tick = (number, isDone) => view((desk) => (page.writer?.tick ? page.writer : desk).tick(number, isDone));

	// A link to no page begins that page.
	async function write(how) {
		if (page.writer) return;
		page.writer = { hear() {} };
		edit.hidden = true;
		try {
			const { write } = await import("./write.js");
			page.writer = await write(pageOf(), how);
			if (page.last.run) page.writer?.hear(page.last);
		} catch ({ name }) {
			page.writer = null;
			edit.hidden = false;
			const why = ["SecurityError", "QuotaExceededError"].includes(name) ? ["this browser keeps nothing for this address, and a text could be lost", "allow its site data (cookies)"] : ["the editor cannot be loaded", "start the preview again"];
			fail("The page cannot be edited here", why[0], `${why[1]}, then reload the page`);
		}
	}

	function left() {
		page.writer = null;
		edit.hidden = false;
		// a link that was followed has it again
		if (document.activeElement === document.body) edit.focus({ preventScroll: true });
		// it shows a draft until it is renewed
		own.key = "";
		renewing = renewing.then(renew);
	}

	// The page has another address, and the editor stays.  From there the links around the
	// page lead elsewhere, until the page is loaded.
	let isElsewhere = false;

	function moveTo(at) {
		// a browser asks for the icon again where the address is another one
		for (const icon of document.querySelectorAll("link[rel=icon]")) icon.href = icon.href;
		history.replaceState(history.state, "", `/${at.split("/").map(encodeURIComponent).join("/")}`);
		own.at = at;
		// the first word of the new address is news, whatever it says
		own.key = "";
		isElsewhere = true;
		page.leave();
		page.connect();
	}

	// An address without a page has one key, whatever stands around what it says.
	const isOther = ({ key, frame }) => key !== own.key || frame !== own.frame;

	// What the server says -------------------------------------------------------------

	function hear(news) {
		if (page.writer) page.writer.hear(news);
		else if (news.run !== own.run) renewing = renewing.then(reload);
		else if (news.key && !news.is_failing && isOther(news)) {
			// one after the other; the last decides
			const isSame = page.isLive && (news.file || news.key === MISSING) && news.frame === own.frame;
			renewing = renewing.then(() => (!isOther(news) ? null : isSame ? renew() : reload()));
		}
		marks = news.marks;
		mark();
		const heading = news.is_failing ? "The site cannot be brought up to date" : "This page has a problem";
		if (!isTold || news.problems.length) showProblems(heading, news.problems, !news.is_failing);
	}

	return { hear, view, tick, write };
}
