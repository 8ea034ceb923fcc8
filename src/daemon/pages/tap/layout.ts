import { createHash } from 'node:crypto'
import { textDirections } from '../../../values/page-languages.ts'
import type { Brand } from '../../domain/tap-page/content.ts'
import { type Html, html, raw } from './html.ts'
import { printStyle } from './print.ts'
import { faviconPath, type Look, type Page, type PageSettings, pathOf } from './settings.ts'
import { type StylePart, styleWith } from './style.ts'
import { palettes, properties } from './theme.ts'

const plain: Pick<Brand, 'color' | 'background'> = { color: null, background: null }

// Cached: computing colours takes longer than the rest of a page, and teams are few.
const looks = new Map<string, Look>()
const maxLooks = 1000

/** The look of a team's pages that have these parts. */
export function lookOf(
  { color, background }: typeof plain,
  { scheme: only }: Pick<PageSettings, 'scheme'>,
  parts: readonly StylePart[],
): Look {
  const key = `${color} ${background} ${only} ${parts}`
  const known = looks.get(key)
  if (known) return known
  const { light, dark } = palettes({ color, background })
  const scheme = background === null ? (only ?? 'light dark') : light.ink < '#8' ? 'light' : 'dark'
  const inDark =
    only === undefined
      ? '@media (prefers-color-scheme:dark)'
      : only === 'dark'
        ? '@media all'
        : '@media not all'
  const colors = `:root{${properties(light)}}${inDark}{:root{${properties(dark)}}}`
  // A logo is drawn for the team's own background, or else for a light page.
  const plate =
    background === null ? `${inDark}{.team img{background:${light.paper};object-position:center}}` : ''
  const css = `:root{color-scheme:${scheme}}${colors}${styleWith(parts)}${plate}${printStyle(color)}`
  const styleHash = `sha256-${createHash('sha256').update(css).digest('base64')}`
  const { text } = html`${raw(css)}</style>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="${scheme}">
<meta name="theme-color" content="${light.paper}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${dark.paper}" media="(prefers-color-scheme: dark)">`
  const look = { text, bytes: Buffer.from(text), styleHash }
  if (looks.size >= maxLooks) looks.clear()
  looks.set(key, look)
  return look
}

interface LayoutOptions {
  brand?: typeof plain | undefined
  parts?: readonly StylePart[]
  script?: string | undefined
  /** More of the head. */
  head?: Html
}

/**
 * A whole page. The style is inline, so that it applies from the first answer, and first in it: see page-bytes.ts, which
 * leaves what stands before the style uncompressed.
 */
export function layout(
  title: string,
  main: Html,
  settings: PageSettings,
  { brand = plain, parts = [], script, head }: LayoutOptions = {},
): Page {
  const { language, nonce } = settings
  const look = lookOf(brand, settings, parts)
  const start = html`<!doctype html>
<html lang="${language}" dir="${textDirections[language]}">
<head>
<meta charset="utf-8">
<style${nonce && html` nonce="${nonce}"`}>`.text
  const rest = html`
<title>${title}</title>
<link rel="icon" href="${pathOf(settings, faviconPath)}" type="image/png" sizes="64x64">
${head}
${script && html`<script src="${pathOf(settings, `/${script.replace(/^\//, '')}`)}"${nonce && html` nonce="${nonce}"`} defer></script>`}
</head>
<body>
${main}
</body>
</html>
`.text
  return { body: start + look.text + rest, parts: [start, look, rest] }
}
