import { createHash } from 'node:crypto'
import { uidToColons } from '../../nfc/uid.ts'
import type { TapPageContent } from '../domain/taps/open-tap.ts'

export interface Page {
  body: string
  /** SHA-256 of the style element's text, in base64. */
  styleHash: string
}

const style = `
:root{color-scheme:light dark;--ink:#14181f;--paper:#fbfaf7;--soft:#5c6470;--line:#d9d6cd;--go:#0b6b4f;--on-go:#fff}
@media (prefers-color-scheme:dark){:root{--ink:#f1efe9;--paper:#14171b;--soft:#a3abb7;--line:#343a42;--go:#5fd0a8;--on-go:#0b1a14}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--paper);color:var(--ink);font:17px/1.5 system-ui,sans-serif}
main{width:min(26rem,100% - 2.5rem);padding:2.5rem 0}
p{margin:.5rem 0}
.state{color:var(--go);font-weight:600}
.state.bad{color:#b3261e}
@media (prefers-color-scheme:dark){.state.bad{color:#ff8a80}}
h1{margin:.25rem 0 .75rem;font-size:1.9rem;line-height:1.2;text-wrap:balance;overflow-wrap:anywhere}
section{margin-top:1.5rem;padding-left:1rem;border-left:3px solid var(--go)}
h2{margin:0;font-size:1.1rem;line-height:1.35;overflow-wrap:anywhere}
section p{margin:.25rem 0 0;color:var(--soft)}
ul{list-style:none;margin:1.75rem 0 0;padding:0;display:grid;gap:.75rem}
a{display:block;padding:.85rem 1.1rem;border-radius:.6rem;background:var(--go);color:var(--on-go);text-decoration:none;font-weight:600;text-align:center}
a:focus-visible{outline:3px solid var(--ink);outline-offset:2px}
dl{margin:2rem 0 0;padding-top:1rem;border-top:1px solid var(--line);display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem;color:var(--soft);font-size:.85rem}
dd{margin:0;overflow-wrap:anywhere;font-family:ui-monospace,monospace}
`
const styleHash = createHash('sha256').update(style).digest('base64')

const page = (title: string, main: string): Page => ({
  styleHash,
  body: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${text(title)}</title>
<style>${style}</style>
</head>
<body>
${main}
</body>
</html>
`,
})

function badgeSection({ title, description, ...badge }: TapPageContent['badges'][number]): string {
  const lines = [description && `<bdi>${text(description)}</bdi>`, noBadgeYet(badge)]
  const paragraphs = lines.map((line) => (line ? `<p>${line}</p>` : '')).join('')
  return `<section><h2><bdi>${text(title)}</bdi></h2>${paragraphs}</section>`
}

type Badge = Pick<TapPageContent['badges'][number], 'status' | 'startDate' | 'expiryDate'>

/** Without it, the heading of an event that gives nothing now would look like an offer. */
function noBadgeYet({ status, startDate, expiryDate }: Badge): string {
  switch (status) {
    case 'active':
      return ''
    case 'future':
      return `Badges can be collected from ${startDate} on (UTC).`
    case 'expired':
      return `Badges could be collected until ${expiryDate} (UTC).`
    case 'pending-approval':
    case 'rejected':
      return 'There are no badges of this event at the moment.'
  }
}

export function tapPage(content: TapPageContent): Page {
  const { item, token, badges, links, uid, ref } = content
  const title = item?.name ?? 'This chip is genuine'
  const list = links.map(
    ({ label, url }) => `<li><a href="${text(url)}" rel="noreferrer"><bdi>${text(label)}</bdi></a></li>`,
  )
  return page(
    title,
    `<main data-ref="${text(ref)}">
<p class="state">✓ Genuine, tapped just now</p>
<h1><bdi>${text(title)}</bdi></h1>
${item?.description ? `<p><bdi>${text(item.description)}</bdi></p>` : ''}
${badges.map(badgeSection).join('\n')}
${list.length > 0 ? `<ul>${list.join('')}</ul>` : ''}
<dl><dt>Chip</dt><dd>${uidToColons(uid)}</dd>${token ? `<dt>Token</dt><dd>${text(token.tokenId)} of ${text(token.contractAddress)}</dd>` : ''}</dl>
</main>`,
  )
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for an element or a quoted attribute. */
const text = (value: string): string => value.replace(/[&<>"']/g, (character) => entities[character] ?? '')
