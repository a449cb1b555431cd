#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-3.0-only
# markup.bats - tables in LaTeX and in Markdown, also with hostile names. A parser of a few rules reads each back.

load ../lib/analyze

setup() {
	command -v python3 >/dev/null || skip "python3 is missing: install the Debian package python3-minimal"
	cd "$BATS_TEST_TMPDIR"
	S=run.sqlite
	store_with "$S"
}

@test "LaTeX: rows end in two backslashes, text is left, numbers right, bounds in front" {
	[ "$("$ANALYZE" runs "$S" --format latex --table runs | head -n 1)" = '\begin{tabular}{rllllrlrrrll}' ]
	sqlite3 "$S" "INSERT INTO lost VALUES (1, 'block', 'request longer than the walk', 'owner', 7)"
	"$ANALYZE" amplification "$S" --format latex --table ratios | grep -qxF 'dd & 812 & waf\_sys & B/S & $\geq$ 1.002 & 10510336 & 10485760 & B lost records \\'
}

@test "LaTeX: a table of 120 rows is three tabulars with heads; --top says the rest" {
	sqlite3 "$S" "DELETE FROM file; WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 120)
		INSERT INTO file(run, id, dev, ino, gen, path) SELECT 1, n, 7340032, n, 1, '/f/' || n FROM n;
		INSERT INTO file_io SELECT 1, id, 3, 0, 0, 0, 1, 1024 * id, 0, 0, 0, 0, 0 FROM file"
	"$ANALYZE" files "$S" --table files --sort S --format latex >all.tex
	[ "$(grep -c '^.begin{tabular}{l' all.tex)" = 3 ]
	[ "$(grep -c '^path & ' all.tex)" = 3 ]
	[ "$(grep -c '^.end{tabular}$' all.tex)" = 3 ]
	[ "$(sed -n 's|^/f/\([0-9]*\) & .*|\1|p' all.tex | paste -sd' ')" = "$(seq -s' ' 120 -1 1)" ]
	[ "$(awk '/^\\begin/ { n = 0 } /^\/f/ { n++ } /^\\end/ { printf " %d", n }' all.tex)" = " 50 50 20" ]
	[ "$("$ANALYZE" files "$S" --table files --top 50 --format latex | tail -n 1)" = "% and 70 others" ]
	[ "$("$ANALYZE" files "$S" --table files --top 50 --format latex | grep -c 'begin{tabular}')" = 1 ]
	"$ANALYZE" files "$S" --table files --top 119 --format markdown | grep -qx 'and 1 other'
}

@test "Markdown: a table as GitHub reads it; sentences are a list" {
	"$ANALYZE" amplification "$S" --format markdown --table ratios | grep -qxF '| dd | 812 | waf\_sys | B/S | 1.002 | 10510336 | 10485760 |  |'
	"$ANALYZE" amplification "$S" --format markdown --table ratios | sed -n 4p | grep -qxE '(\|(---|---:))+\|'
	"$ANALYZE" "$S" --format markdown | grep -qxF -- '- **finding**: dd \[812\] wrote 10 MiB, and devices wrote 10 MiB on its behalf: 1.002 times as much (waf\_sys = B/S).'
	"$ANALYZE" "$S" --format latex | grep -qxF -- '\item[finding] dd {[}812{]} wrote 10 MiB, and devices wrote 10 MiB on its behalf: 1.002 times as much (waf\_sys = B/S).'
}

@test "nothing in hostile names is markup, in any table of the reports" {
	# shellcheck disable=SC2016
	python3 - "$S" <<-'E'
	import sqlite3, sys
	name = ('\\input{/etc/passwd} $x$ %c #1 a_b ~^ {}&|`id`$(id) <script>alert(1)</script> **b** [l](http://x) !i "q" --- \\\\ *[x] é \u0416 \U0001f600 \x1b[31m\n|end')
	db = sqlite3.connect(sys.argv[1])
	db.execute("UPDATE process SET comm = ? WHERE comm = 'dd'", (name,))
	db.execute("UPDATE file SET path = ?", ("/mnt/" + name,))
	db.execute("UPDATE run SET label = ?, command = ?, host = ?", (name, name, name))
	db.commit()
	E
	for report in amplification breakdown components files latency network pattern iosize heatmap fsync runs systems timeline verify explain headline; do
		"$ANALYZE" "$report" "$S" --format latex > "$report.tex" || [ "$report" = verify ]
		"$ANALYZE" "$report" "$S" --format markdown > "$report.md" || [ "$report" = verify ]
		python3 - "$report" <<-'E'
		import re, sys
		tex = open(sys.argv[1] + ".tex", encoding="utf-8").read()
		md = open(sys.argv[1] + ".md", encoding="utf-8").read()
		assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", tex + md), "control characters"
		known = set("begin end hline item geq leq textasciitilde textasciicircum textbackslash textless textgreater textbar textquotedbl textasciigrave".split())
		columns = None
		for line in tex.splitlines():
		    if line.startswith("%"):
		        continue
		    bare = re.sub(r"\\[&%$#_{}]|\{[\[\]*-]\}|\$\\[gl]eq\$", "", line)
		    body = bare[:-2] if bare.endswith("\\\\") else bare
		    assert set(re.findall(r"\\([A-Za-z]+)", body)) <= known, line
		    rest = re.sub(r"\\(begin|end)\{[a-z]+\}(\{[lr]+\})?|\\item\[[^]]*\]|\\text[a-z]+\{\}|\\hline", "", body)
		    assert not re.search(r"[\\%$#_{}~^<>|\"`]", rest), (line, rest)
		    assert not any(ord(c) > 0x17f for c in line), line
		    begun = re.match(r"\\begin\{tabular\}\{([lr]+)\}", line)
		    columns = len(begun.group(1)) if begun else None if line.startswith("\\end{tabular}") else columns
		    if line.endswith("\\\\") and columns:
		        assert rest.count("&") == columns - 1, (columns, line)
		for begin in ("tabular", "description"):
		    assert tex.count("\\begin{%s}" % begin) == tex.count("\\end{%s}" % begin)
		bars = None
		for line in md.splitlines():
		    bare = re.sub(r"\\[\\`*_{}\[\]<>&|~$#!]", "", line)
		    if re.fullmatch(r"(\|---:?)+\|", line):
		        assert line.count("|") == bars, line
		        continue
		    bare = re.sub(r"^### |^- \*\*|\*\*: ", "", bare) if line.startswith(("### ", "- **")) else bare
		    assert not re.search(r"[\\`*_<>\[\]&~$]", bare), (line, bare)
		    assert not line.startswith("|") or bars is None or bare.count("|") == bars, line
		    bars = bare.count("|") if line.startswith("|") else None
		E
	done
}

@test "pdflatex typesets it" {
	command -v pdflatex >/dev/null || skip "pdflatex is missing: install the Debian package texlive-latex-base"
	"$ANALYZE" amplification "$S" --format latex > table.tex
	printf '%s\n' '\documentclass{article}\usepackage[T1]{fontenc}\begin{document}\tiny' '\input{table.tex}' '\end{document}' > paper.tex
	pdflatex -interaction=batchmode -halt-on-error -no-shell-escape paper.tex
}
