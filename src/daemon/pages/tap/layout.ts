import type { Brand } from '../../domain/tap-page/content.ts'
import { type Html, html, raw } from './html.ts'
import { type Page, type PageSettings, pathOf } from './settings.ts'
import { stringsOf } from './strings/strings.ts'
import { style } from './style.ts'
import { palettes, properties } from './theme.ts'

const plain: Pick<Brand, 'color' | 'background'> = { color: null, background: null }

/** A whole page. The style stands in it, so that it shows with the first answer. */
export function layout(
  title: string,
  main: Html,
  settings: PageSettings,
  { brand = plain, script }: { brand?: typeof plain; script?: string | undefined } = {},
): Page {
  const { language, nonce } = settings
  const { light, dark } = palettes(brand)
  const colors = `:root{${properties(light)}}@media (prefers-color-scheme:dark){:root{${properties(dark)}}}`
  const scheme = brand.background === null ? 'light dark' : light.ink < '#8' ? 'light' : 'dark'
  return {
    body: html`<!doctype html>
<html lang="${language}" dir="${stringsOf(language).dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="${scheme}">
<meta name="theme-color" content="${light.paper}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${dark.paper}" media="(prefers-color-scheme: dark)">
<title>${title}</title>
<style nonce="${nonce}">:root{color-scheme:${scheme}}${raw(colors)}${raw(style)}</style>
${script && html`<script src="${pathOf(settings, `/${script.replace(/^\//, '')}`)}" nonce="${nonce}" defer></script>`}
</head>
<body>
${main}
</body>
</html>
`.text,
  }
}
