import { palettes, properties } from './theme.ts'

/**
 * On paper: dark ink on white in the team's colour, a film's poster, folded texts unfolded, and nothing to press.
 * @param color of the team
 */
export const printStyle = (color: string | null): string =>
  `@media print{
:root{color-scheme:light;${properties(palettes({ color, background: '#ffffff' }).light)}}
form,button,video,.bar,.time,.pictogram,summary,section:has(>.links),.card:has(form),.gallery li:has(video){display:none!important}
.hero .poster{display:block}
.hero{position:static;max-block-size:9cm}
.hero:not(:has(img)){display:none}
.tick,.hero,.team img{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.team img{background:none}
.gallery{flex-wrap:wrap;overflow:visible}
.gallery li{flex-basis:4cm}
.card,.grid>div,.gallery li{break-inside:avoid;background:none}
details::details-content{content-visibility:visible;block-size:auto}
}`.replaceAll('\n', '')
