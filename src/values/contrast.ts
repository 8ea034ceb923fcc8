// Colours are sRGB, written `#rrggbb` in lower case.

type Rgb = readonly [number, number, number]

/** @param text `#rgb` or `#rrggbb`, of any case @returns `#rrggbb`, or undefined if it is no such colour */
export function parseColor(text: string): string | undefined {
  const lower = text.toLowerCase()
  if (/^#[0-9a-f]{6}$/.test(lower)) return lower
  return /^#[0-9a-f]{3}$/.test(lower) ? lower.replace(/[0-9a-f]/g, '$&$&') : undefined
}

/** WCAG 2.2, "contrast ratio": 1 (none) to 21 (black on white). */
export function contrast(a: string, b: string): number {
  const [darker = 0, lighter = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y)
  return (lighter + 0.05) / (darker + 0.05)
}

/** @param share of `b`, 0 to 1 */
export function mix(a: string, b: string, share: number): string {
  const [from, to] = [parts(a), parts(b)]
  const channel = (i: 0 | 1 | 2) => Math.round(from[i] + (to[i] - from[i]) * share)
  return `#${([0, 1, 2] as const).map((i) => channel(i).toString(16).padStart(2, '0')).join('')}`
}

const black = '#000000'
const white = '#ffffff'

/** White or black, whichever is easier to read on the colour: 4.58 : 1 at least on any. */
export const textOn = (color: string): string =>
  contrast(color, white) >= contrast(color, black) ? white : black

/**
 * The shade or tint of the colour that stands out enough from the background, as near to the colour as there is one.
 * @param ratio at most 4.58, which black or white has on any background
 * @returns the colour itself if it stands out already
 */
export function withContrast(color: string, background: string, ratio: number): string {
  for (let step = 0; step <= 100; step++)
    for (const end of [black, white]) {
      const candidate = mix(color, end, step / 100)
      if (contrast(candidate, background) >= ratio) return candidate
    }
  return textOn(background)
}

/** WCAG 2.2, "relative luminance". */
function luminance(color: string): number {
  const [r, g, b] = parts(color).map((value) => {
    const share = value / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

const parts = (color: string): Rgb => [
  Number.parseInt(color.slice(1, 3), 16),
  Number.parseInt(color.slice(3, 5), 16),
  Number.parseInt(color.slice(5, 7), 16),
]
