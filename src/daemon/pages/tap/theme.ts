import { plainBackground } from '../../../values/brand.ts'
import { contrast, mix, textOn } from '../../../values/contrast.ts'
import type { Brand } from '../../domain/tap-page/content.ts'

/**
 * Colours of a page, `#rrggbb`. Text on `paper`, `card`, and `field` meets WCAG 2.2 AA: `ink`, `soft`, `accent`,
 * `bad`, `good`.
 */
export interface Palette {
  paper: string
  card: string
  /** Background of inputs and results. */
  field: string
  /** Background of a picture's box while it loads. */
  box: string
  ink: string
  soft: string
  /** Borders of fields, with a contrast of 3:1. */
  edge: string
  /** Decoration. */
  line: string
  /** Links, and the sign that the chip is genuine. */
  accent: string
  button: string
  onButton: string
  bad: string
}

const defaultColors = {
  light: { paper: plainBackground, accent: '#0b6b4f' },
  dark: { paper: '#14171b', accent: '#5fd0a8' },
}

type BrandColors = Pick<Brand, 'color' | 'background'>

/** A team's background is used by day and by night; its colour is made readable on either. */
export function palettes({ color, background }: BrandColors): { light: Palette; dark: Palette } {
  const of = (mode: 'light' | 'dark') =>
    paletteOf(background ?? defaultColors[mode].paper, color ?? undefined)
  return { light: of('light'), dark: of('dark') }
}

function paletteOf(paper: string, color: string | undefined): Palette {
  const isDark = textOn(paper) === '#ffffff'
  const mode = isDark ? 'dark' : 'light'
  const ink = readable(isDark ? '#f1efe9' : '#14181f', [paper], 7)
  const card = cardOn(paper, isDark)
  const field = isDark ? mix(card, '#000000', 0.3) : mix(card, '#ffffff', 0.8)
  const all = [paper, card, field]
  const accent = color ?? defaultColors[mode].accent
  const button = readable(accent, all, 3)
  return {
    paper,
    card,
    field,
    box: mix(paper, ink, 0.07),
    ink: readable(ink, all, 7),
    soft: readable(mix(ink, paper, 0.35), all, 4.6),
    edge: readable(mix(ink, paper, 0.55), all, 3.1),
    line: mix(ink, paper, 0.84),
    accent: readable(accent, all, 4.6),
    button,
    onButton: textOn(button),
    bad: readable(isDark ? '#ff8a80' : '#b3261e', all, 4.6),
  }
}

/** Moves away from the ink on a medium background, whose contrast is barely sufficient. */
function cardOn(paper: string, isDark: boolean): string {
  if (!isDark) return mix(paper, '#ffffff', 0.65)
  return contrast('#ffffff', paper) > 9 ? mix(paper, '#ffffff', 0.06) : mix(paper, '#000000', 0.2)
}

/**
 * Returns the colour, or the nearest one towards black or white with enough contrast; if there is none, the best
 * available.
 */
function readable(color: string, backgrounds: readonly string[], ratio: number): string {
  const minContrast = (candidate: string) =>
    Math.min(...backgrounds.map((background) => contrast(candidate, background)))
  const end = minContrast('#ffffff') > minContrast('#000000') ? '#ffffff' : '#000000'
  for (let step = 0; step <= 20; step++) {
    const candidate = mix(color, end, step / 20)
    if (minContrast(candidate) >= ratio) return candidate
  }
  return end
}

/** Custom properties for a CSS rule. */
export const properties = (palette: Palette): string =>
  Object.entries(palette)
    .map(([name, value]) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}:${value}`)
    .join(';')
