"""How an HTML page looks: on a wide screen and a phone, in light and dark, and on paper."""

from __future__ import annotations

# Blue tells bars and links apart from text for all kinds of colour vision; nothing is said by colour alone.
STYLESHEET = """
:root { --page: #ffffff; --ink: #1a1a1a; --quiet: #565656; --line: #d0d0d0; --soft: #f2f4f7; --mark: #0072b2;
  --alert: #b34700; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181c; --ink: #e8e8e8; --quiet: #a9adb3; --line: #41454c; --soft: #21252b; --mark: #56b4e9;
    --alert: #e69f00; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.6rem 0 .7rem; padding-bottom: .3rem;
  border-bottom: 1px solid var(--line); }
p, ul { max-width: 46rem; }
p { margin: .6rem 0; }
ul { padding-left: 1.3rem; }
li { margin: .3rem 0; }
a { color: var(--mark); }
.subtitle { color: var(--quiet); margin: 0; }
nav ul { list-style: none; padding: 0; margin: 1rem 0 0; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem;
  max-width: none; font-size: .9rem; }
nav li { margin: 0; }
.answer { border-left: .25rem solid var(--mark); background: var(--soft); padding: .7rem 1rem; font-size: 1.08rem; }
.warning { border-left: .25rem solid var(--alert); background: var(--soft); padding: .5rem 1rem; }
code { font: .9em/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
p code, li code, td code, th code { background: var(--soft); padding: .05em .25em; border-radius: .2em; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: .3rem; padding: .8rem 1rem;
  overflow-x: auto; font-size: .85rem; }
pre.command { white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .9rem 0; }
table { border-collapse: collapse; font-size: .9rem; line-height: 1.4; }
caption { text-align: left; color: var(--quiet); padding: 0 0 .4rem; max-width: 46rem; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .7rem; text-align: left; vertical-align: top;
  font-weight: normal; overflow-wrap: normal; max-width: 24rem; }
tbody th { overflow-wrap: anywhere; }
td { overflow-wrap: anywhere; min-width: 4rem; }
td:not(.number) code { overflow-wrap: normal; }
td:not(.number):nth-child(2) { min-width: 11rem; }
th:first-child, td:first-child { padding-left: .2rem; }
.short, thead code { white-space: nowrap; }
thead th { font-weight: 600; border-bottom: 2px solid var(--line); vertical-align: bottom; }
tbody th { min-width: 11rem; }
tbody th:has(.definition) { min-width: 19rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.definition { display: block; color: var(--quiet); font-size: .8rem; line-height: 1.35; max-width: 22rem;
  white-space: normal; }
.bar { display: block; width: 100%; min-width: 5rem; height: .4rem; margin-top: .2rem; }
.bar .track { fill: var(--line); }
.bar .fill { fill: var(--mark); }
figure { margin: 1.2rem 0 1.8rem; }
figure img { display: block; max-width: 100%; height: auto; background: #ffffff; padding: .5rem;
  border: 1px solid var(--line); border-radius: .3rem; }
figcaption { color: var(--quiet); font-size: .9rem; margin-top: .4rem; max-width: 46rem; }
@media (max-width: 40rem) {
  body { padding-top: 1rem; }
  h1 { font-size: 1.4rem; }
  th, td { padding: .35rem .45rem; }
  tbody th { min-width: 8rem; }
  tbody th:has(.definition) { min-width: 11rem; }
}
@media print {
  :root { --page: #ffffff; --ink: #000000; --quiet: #444444; --line: #d0d0d0; --soft: #ffffff; --mark: #0072b2;
    --alert: #b34700; }
  @page { margin: 15mm 14mm; }
  body { max-width: none; padding: 0; font-size: 9.5pt; line-height: 1.4; }
  nav { display: none; }
  h2 { break-after: avoid; margin-top: 1.6rem; }
  h2.sheet { break-before: page; margin-top: 0; }
  figure, tr, .answer, .warning { break-inside: avoid; }
  caption { break-after: avoid; }
  figure { margin: .6rem 0; }
  figure img { max-height: 10.5cm; border: 0; padding: 0; }
  .scroll { overflow: visible; }
  table { width: 100%; font-size: 8.5pt; }
  p, ul, caption { max-width: none; }
  th, td { padding: .25rem .35rem; min-width: 0 !important; max-width: none; }
  tbody th { overflow-wrap: break-word; }
  td .short { white-space: normal; }
  .definition, figcaption, caption { font-size: 8pt; }
  pre { white-space: pre-wrap; overflow: visible; break-inside: auto; }
}
"""
