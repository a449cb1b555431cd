/* SPDX-License-Identifier: GPL-3.0-only */
/* page_style.h - what a page looks like, and its script. For page.c alone. */
#ifndef IOT_ANALYZER_PAGE_STYLE_H
#define IOT_ANALYZER_PAGE_STYLE_H

/* A click on the head of a column sorts its rows: numbers from the largest on, text from A on, the
 * other way round at the next click. The page allows only this text to run, by its SHA-256. */
static const char script[] =
	"document.addEventListener('click',e=>{const h=e.target.closest('thead th');if(!h)return;"
	"const b=h.closest('table').tBodies[0],i=h.cellIndex,n=r=>r.cells[i].classList.contains('n'),v=r=>r.cells[i].textContent,"
	"d=h.dataset.d=h.dataset.d==='1'?'-1':'1';"
	"[...b.rows].sort((x,y)=>d*(n(x)&&n(y)?parseFloat(v(y))-parseFloat(v(x))||0:n(x)-n(y)||v(x).localeCompare(v(y))))"
	".forEach(r=>b.append(r))})";
#define SCRIPT_SHA256 "HHNxCt6wHZP/B0l9gri5X68ECkYU7cy6oB0s6YFDqG0="

static const char style[] =
	":root{color-scheme:light dark;--paper:#fff;--ink:#111;--dim:#555;--grid:#ddd;--box:#f4f4f4}\n"
	"@media(prefers-color-scheme:dark){:root{--paper:#16181c;--ink:#eee;--dim:#aaa;--grid:#3a3d42;--box:#22252a}}\n"
	"body{background:var(--paper);color:var(--ink);font:16px/1.5 'DejaVu Sans',Verdana,sans-serif;margin:0}\n"
	"main{max-width:1200px;margin:0 auto;padding:0 16px 48px}h1{font-size:1.6em}\n"
	"h2{font-size:1.25em;margin:2em 0 .4em;border-top:1px solid var(--grid);padding-top:1em}\n"
	"nav a{margin-right:1em}a{color:inherit}figure{margin:0}figcaption,.dim,caption{color:var(--dim);font-size:.85em;text-align:left}\n"
	"svg{max-width:100%;height:auto;display:block;background:#fff;border-radius:4px}thead th{cursor:pointer}\n"
	"@media screen and (prefers-color-scheme:dark){svg{filter:invert(.9) hue-rotate(180deg)}}\n"
	".narrow,.paper{display:none}\n"
	"@media screen and (max-width:760px){.wide{display:none}.narrow{display:block}}\n"
	"code{background:var(--box);padding:.1em .3em;overflow-wrap:anywhere}.scroll{overflow-x:auto}\n"
	"table{border-collapse:collapse;font-size:.8em;margin:.6em 0}\n"
	"td,th{padding:.15em .6em;border-bottom:1px solid var(--grid);text-align:left;white-space:nowrap}\n"
	".wrap td{white-space:normal;overflow-wrap:anywhere}.wrap th{vertical-align:top}"
	".n{text-align:right;font-variant-numeric:tabular-nums}dt{font-weight:bold}dd{margin:0 0 .3em 1.5em;overflow-wrap:anywhere}summary{cursor:pointer}\n"
	".absent{background:var(--box);padding:.6em 1em}.wrong{outline:3px solid #d55e00;padding:.3em}\n"
	"@media print{:root{--paper:#fff;--ink:#000;--dim:#333;--grid:#ccc}body{font-size:12px}h2{margin:.8em 0 .2em;padding-top:.4em;break-after:avoid}\n"
	"figure,tr,dd{break-inside:avoid}svg{max-height:7cm}tbody tr:nth-child(n+16),.scroll~.scroll{display:none}.paper{display:block}"
	".wide,.narrow,nav{display:none}table{font-size:.65em}"
	"td,th{white-space:normal;overflow-wrap:anywhere}th{overflow-wrap:normal}.n{white-space:nowrap;"
	"overflow-wrap:normal}.scroll{overflow:visible}td,th{padding:.15em .4em}"
	".scroll table{font-size:min(.65em,calc(17cm/var(--em)))}}\n";

#endif
