/**
 * Mobile first, in logical properties. Colours are custom properties: see theme.ts. Sizes are in rem, so that larger
 * text makes all of it larger; every box may shrink, and every text may break anywhere. Places for results keep being
 * rendered while they are empty: screen readers hear only what appears in an element that they know. `data-room` is
 * the longest text that an element may show; the element is that high from the start, so that nothing moves. `.bar`
 * stands at the foot of the screen until the button is there.
 */
const style = `
html{--side:min(1.25rem,5.5vw);--pad:min(1.15rem,4.5vw);--bar:3.5rem;--gap:1.25rem;scroll-padding-block:1rem calc(var(--bar) + .5rem)}
*{box-sizing:border-box;min-width:0}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1.0625rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
header,main{width:min(34rem,100%);margin-inline:auto;padding-inline:var(--side)}
main,.about{display:flex;flex-direction:column;gap:var(--gap)}
header{display:flex;flex-wrap:wrap;align-items:center;justify-content:space-between;gap:.5rem 1rem;padding-block:.75rem}
main{padding-block-end:3rem}
p,h1,h2,dl,dd,ul{margin:0;padding:0}
ul{list-style:none}
h1{font-size:clamp(1.6rem,1.2rem + 2.2vw,2.1rem);line-height:1.2;letter-spacing:-.01em;text-wrap:balance}
h2{font-size:1.15rem;line-height:1.3}
a{color:var(--accent);text-underline-offset:.2em}
:focus-visible{outline:3px solid var(--accent);outline-offset:3px;border-radius:.3rem}
[role=status]:focus{outline:none}
[hidden]{display:none!important}
.team{display:flex;align-items:center;gap:.6rem;font-weight:650}
.team img{flex:none;block-size:2.25rem;inline-size:6rem;padding:.2rem;object-fit:contain;object-position:left;border-radius:.4rem}
[dir=rtl] .team img{object-position:right}
.team img:only-child{inline-size:min(9rem,100%)}
.state{display:flex;gap:.45rem;color:var(--accent);font-weight:600;font-size:.875rem}
.tick{flex:none;display:grid;place-items:center;inline-size:1.4em;block-size:1.4em;border-radius:50%;background:var(--button);color:var(--on-button);font-size:.85em;font-weight:700}
header .state{flex:0 1 20rem}
.bad,.state.bad{color:var(--bad)}
.state.bad .tick{background:var(--bad);color:var(--paper)}
.soft,.hint,.explain,.collection,.kind,.time{color:var(--soft)}
.hero{flex:none;margin-inline:calc(-1*var(--side));aspect-ratio:1;max-block-size:27vh;max-block-size:27svh;overflow:hidden}
.hero img,.hero video{display:block;inline-size:100%;block-size:100%;object-fit:contain;color:var(--soft);font-size:.95rem}
h1+.collection,.facts{margin-block-start:-.9rem}
.facts{display:flex;flex-wrap:wrap;gap:.5rem 2rem}
dt{font-size:.85rem;color:var(--soft)}
.said{white-space:pre-line}
.address,.technical dd{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em}
.time{font-size:.9rem;font-variant-numeric:tabular-nums}
[data-too-late]{color:var(--bad)}
.wait{font-variant-numeric:tabular-nums}
.wait [data-until]{font-size:1.3em;line-height:0;font-weight:700;white-space:nowrap}
.still,.hero .poster{display:none}
.broken{display:grid;place-items:center;inline-size:100%;block-size:100%;padding:1rem;color:var(--soft);text-align:center;font-size:.95rem;overflow:hidden}
.artwork.broken{padding:0}
.team .broken{flex:none;visibility:hidden;inline-size:6rem;block-size:2.25rem;padding:0}
.address{white-space:nowrap}
.name{display:inline-block;max-inline-size:100%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;vertical-align:bottom}
[data-card=owner]{flex:1 1 12rem}
[data-card=owner]>*{display:flex;gap:.4em;min-block-size:1.5em}
[data-owner] .address{flex:none}[data-owner] .name{flex-shrink:9999}
@media (scripting:none){.still{display:initial}.ticks{display:none}}
.card{display:grid;grid-template-columns:minmax(0,1fr);align-content:start;gap:.75rem;padding:var(--pad);border:1px solid var(--line);border-radius:1rem;background:var(--card)}
.top{display:flex;flex-wrap:wrap;align-items:center;gap:.75rem 1rem}
.artwork{flex:none;inline-size:4.5rem;block-size:4.5rem;object-fit:cover;border-radius:50%;background:var(--box);color:var(--soft);font-size:.7rem}
.words{flex:1 1 9rem;display:grid;gap:.2rem}
.kind{font-size:.9rem}
.card form{display:grid;grid-template-columns:minmax(0,1fr);gap:.4rem}
label{font-weight:600}
.hint,.room{font-size:.95rem}
.room,.time,.wait,[data-room]{display:grid;grid-template-columns:minmax(0,1fr)}
.room>*,.time>*,.wait>*,[data-room]>*,[data-room]::after,[data-room-too]::before{grid-area:1/1}
[data-room]::after{content:attr(data-room)}
[data-room-too]::before{content:attr(data-room-too)}
[data-room]::after,[data-room-too]::before{visibility:hidden;white-space:pre-line}
.room>span,.room::after{font-weight:500}
[role=status]:not(:empty)~*,[data-check]:not(:empty)~.explain{visibility:hidden}
[role=status]{scroll-margin-block-start:13rem}
label[id]{scroll-margin-block-start:40vh}.card[id]{scroll-margin-block-start:5rem}
form~*{position:relative;z-index:2;background:var(--card)}
.card>form~p,.card>form~.room{margin-block-start:-.75rem;padding-block-start:.75rem}
.card:has(>form){display:flex;flex-direction:column}
form~.room{flex:1 0 auto;align-content:start;min-block-size:var(--bar)}
.bar{position:sticky;inset-block-end:0;z-index:1;block-size:var(--bar);background:var(--card);margin:calc(-1*(var(--bar) + var(--gap) + var(--pad) + 1px)) calc(var(--pad) + 1px) calc(var(--pad) + 1px)}
.bar a::after{content:" ↓";content:" ↓"/"";white-space:pre}
.bar a{display:flex;align-items:center;justify-content:center;block-size:3rem;border-radius:.65rem;background:var(--button);color:var(--on-button);line-height:1.2;font-weight:650;text-align:center;text-decoration:none;overflow:hidden}
.card:not(:has(form))+.bar,:has(form :focus)>.bar{display:none}
@supports (animation-timeline:view()){main{timeline-scope:--button-seen}
.card:has(+.bar)>form [type=submit]{view-timeline:--button-seen;view-timeline-inset:auto var(--bar)}
.bar{animation:auto gone forwards;animation-timeline:--button-seen}
@keyframes gone{from,to{visibility:hidden}}}
/*collect*/
.choices{display:grid;gap:.5rem;margin-block-end:.25rem}
.choices li{display:grid;grid-template-columns:minmax(0,1fr);padding-block-end:.5rem;border-block-end:1px solid var(--line)}
.choice{position:relative;display:flex;gap:.7rem;align-items:center;min-block-size:2.25rem}
.choice h2{font-size:1rem}
.choice label{position:absolute;inset:0}.choice input{z-index:1}
.choices .explain{display:flex;gap:.75rem;align-items:flex-start}
.choices .artwork{inline-size:3.5rem;block-size:3.5rem}
.choices .room{font-size:.9rem;line-height:1.4}
.choices .room::after,.choices .room::before{padding-block-end:.4rem;font-weight:500}
/*all*/
[type=checkbox]{flex:none;inline-size:1.35rem;block-size:1.35rem;margin:0;accent-color:var(--button)}
.field input{inline-size:100%;min-block-size:2.9rem;padding:.6rem min(.8rem,3vw);border:1.5px solid var(--edge);border-radius:.65rem;background:var(--field);color:var(--ink);font:inherit}
::placeholder{color:var(--soft);opacity:1}
input[aria-invalid=true]{border-color:var(--bad);box-shadow:inset 0 0 0 1px var(--bad)}
[data-check]{color:var(--soft)}
[data-check][data-good=false]{color:var(--bad)}
button{min-block-size:2.9rem;padding:.65rem min(1.2rem,4vw);border:0;border-radius:.65rem;background:var(--button);color:var(--on-button);font:inherit;font-weight:650;cursor:pointer}
button[type=submit]{margin-block-start:.35rem}
button[disabled],button[aria-disabled=true]{opacity:.55;cursor:default}
.field{position:relative}
[data-wallets]{position:absolute;inset-block:0;inset-inline-end:0;display:flex;max-inline-size:45%;overflow-x:auto}
[data-wallet],.quiet{background:transparent;color:var(--accent);border:1.5px solid var(--edge);font-weight:600}
.quiet{padding-block:calc(.65rem - 1.5px)}
[data-wallet]{flex:none;min-block-size:0;padding-block:0;max-inline-size:100%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
[role=status]{display:grid;gap:.3rem}
[role=status][data-state]{padding:.8rem min(1rem,4vw);border-radius:.65rem;background:var(--field);border-inline-start:4px solid var(--accent)}
[role=status][data-state]>p:first-child{font-weight:600}
[role=status][data-state=failed]{border-color:var(--bad)}
[role=status][data-state=failed]>p:first-child{color:var(--bad);font-weight:500}
form~.room [role=status],.choices [role=status]{padding:0;border:0;background:none}
form~.room [role=status]>p,.choices [role=status]>p{font-weight:500!important}
[data-state=confirmed]>p:first-child::before{content:"✓ ";color:var(--accent)}
[data-state=pending]>p:first-child::before{content:"";display:inline-block;inline-size:.75em;block-size:.75em;margin-inline-end:.5em;border:2px solid var(--accent);border-block-start-color:transparent;border-radius:50%}
/*claim*/
.card:has(>.later){min-block-size:max(22.5rem,55.25rem - 117vw)}
.moment{position:relative;display:grid;grid-template-columns:minmax(0,1fr);gap:.6rem}
.moment:empty{position:absolute}
.moment figure{display:flex;flex-wrap:wrap;align-items:center;gap:.8rem;margin:0;padding:.6rem;border:2px solid var(--button);border-radius:.8rem;background:var(--field)}
.moment figure img{flex:none;inline-size:4.75rem;block-size:4.75rem;object-fit:cover;border-radius:.4rem;background:var(--box)}
.moment figcaption{flex:1 1 8rem}
.moment .what{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;font-weight:650;overflow:hidden}
.moment dl{font-size:.9rem}
.moment dl>div>*{display:inline}
.moment .paper{display:none}
.acts{display:flex;gap:.6rem}
.acts button{flex:1 1 auto;padding-inline:.4rem}
.acts .share{display:contents}
.acts .hint{position:absolute;inset-block-start:100%;max-inline-size:100%;font-size:.8rem;white-space:nowrap;overflow-x:auto}
/*all*/
@media (scripting:none){.share,.acts{display:none}}
/*claim*/
.moment{clip-path:inset(-4px)}
.moment.later{clip-path:inset(0 50%)}
/*all*/
section>h2{margin-block-end:.75rem}
.card h2{margin:0}
.gallery{display:flex;gap:.75rem;overflow-x:auto;scroll-snap-type:x mandatory;margin-inline:calc(-1*var(--side));padding-inline:var(--side);scroll-padding-inline:var(--side);padding-block-end:.5rem}
.gallery li{flex:0 0 min(70%,16rem);aspect-ratio:1;scroll-snap-align:start;border-radius:.8rem;overflow:hidden;background:var(--box)}
.gallery img,.gallery video{display:block;inline-size:100%;block-size:100%;object-fit:cover;color:var(--soft);font-size:.9rem}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(9rem,100%),1fr));gap:.75rem}
.grid>div{padding:.7rem .85rem;border:1px solid var(--line);border-radius:.75rem;background:var(--card)}
.grid dd{font-weight:600}
.links{display:grid;gap:.6rem}
.links a{display:flex;align-items:center;min-block-size:2.9rem;padding:.65rem 1rem;border:1.5px solid var(--edge);border-radius:.65rem;font-weight:600;text-decoration:none}
.links a:hover{text-decoration:underline}
details summary{cursor:pointer;min-block-size:2.75rem;display:flex;align-items:center;color:var(--accent);font-weight:600}
summary::-webkit-details-marker{display:none}
summary::after{content:"";flex:none;inline-size:.5em;block-size:.5em;margin-inline-start:.6em;border:solid currentColor;border-width:0 2px 2px 0;transform:rotate(45deg) translate(-2px,-2px)}
details[open]>summary::after{transform:rotate(225deg) translate(-2px,-2px)}
.technical{border-block-start:1px solid var(--line);padding-block-start:.5rem}
.technical dl{display:grid;gap:.75rem;margin-block-end:.75rem}
/*notice*/
.notice{min-block-size:100vh;justify-content:center;gap:.75rem;padding-block:2rem}
header+.notice{min-block-size:calc(100vh - 5rem)}
.pictogram{fill:none;stroke:var(--accent);stroke-width:3;stroke-linecap:round;margin-block-end:.5rem}
/*all*/
.story{list-style:none;margin:0;padding:0;display:grid;gap:.75rem}
.story time{display:block;font-size:.85rem;color:var(--soft)}
.share{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem 1rem}
@media (prefers-reduced-motion:no-preference){[data-state=pending]>p:first-child::before{animation:turn 1s linear infinite}@keyframes turn{to{transform:rotate(1turn)}}}
@media (prefers-reduced-motion:no-preference){.moment{transition:clip-path .9s}.card{transition:border-color .9s}}
.card:has([data-state=confirmed]){border-color:var(--accent)}
@media (min-width:36rem){.pair,header:has(+.pair){display:grid;grid-template-columns:minmax(0,2fr) minmax(0,3fr);gap:2rem;width:min(68rem,100%)}.pair{align-items:start}.pair .hero img{object-position:50% 0}.hero{position:sticky;inset-block-start:1rem;margin-inline:0;max-block-size:calc(100vh - 5rem)}}
@media (min-width:60rem){.pair,header:has(+.pair){grid-template-columns:minmax(0,1fr) minmax(0,1fr)}}
@media (forced-colors:active){.pictogram{stroke:CanvasText}.card,button,.tick,[role=status][data-state]{border:1px solid}}
/*claim*/
@media print{
@page{margin:15mm}
main:has(.kept)>:not(.about),header:has(+main .kept),.about:has(.kept)>:not(:has(.kept)),.card:has(>.kept)>:not(.kept),.acts{display:none!important}
main:has(.kept){display:block;inline-size:auto;padding:0}
.card:has(>.kept){border:0;padding:0;background:none}
.kept figure{flex-flow:column;justify-content:center;block-size:225mm;padding:10mm;border:3px double var(--button);background:none;text-align:center;break-inside:avoid;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.kept figure img{flex:0 1 10cm;inline-size:10cm;object-fit:contain;background:none}
.kept figcaption{flex:none;display:grid;gap:.6rem;max-inline-size:100%}
.kept .paper{display:block}
.kept .what{-webkit-line-clamp:4;font-size:1.7rem}
.kept dl{font-size:1rem}
}
`

/** Rules that only some pages have: those between its name and the next one. */
export type StylePart = 'collect' | 'claim' | 'notice'

const [first = '', ...others] = style.split('/*')
const blocks = others.map((block) => block.split('*/\n'))

export const styleWith = (parts: readonly StylePart[]): string =>
  blocks
    .filter(([name]) => name === 'all' || parts.some((part) => part === name))
    .reduce((text, [, rules]) => text + rules, first)
    .replaceAll('\n', '')
