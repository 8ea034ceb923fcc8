import { describe, expect, test } from 'vitest'
import { contrast, mix, parseColor, textOn, withContrast } from '../../src/values/contrast.ts'

const colors = Array.from({ length: 512 }, (_, i) => {
  const hex = (n: number) => Math.round((n * 255) / 7).toString(16)
  return `#${[i & 7, (i >> 3) & 7, i >> 6].map((n) => hex(n).padStart(2, '0')).join('')}`
})

describe('contrast', () => {
  // https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio; figures as WebAIM's checker gives them.
  test('is the ratio that WCAG defines', () => {
    expect(contrast('#000000', '#ffffff')).toBe(21)
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2)
    expect(contrast('#ffffff', '#767676')).toBeCloseTo(4.54, 2)
    expect(contrast('#0000ff', '#ffffff')).toBeCloseTo(8.59, 2)
    expect(contrast('#abcdef', '#abcdef')).toBe(1)
  })

  test('text is readable on any colour, and a colour that does not stand out gets a neighbour that does', () => {
    for (const color of colors) {
      expect(contrast(textOn(color), color)).toBeGreaterThanOrEqual(4.5)
      for (const background of ['#ffffff', '#000000', '#777777', color])
        for (const ratio of [3, 4.5]) {
          const found = withContrast(color, background, ratio)
          expect(contrast(found, background)).toBeGreaterThanOrEqual(ratio)
          if (contrast(color, background) >= ratio) expect(found).toBe(color)
        }
    }
    expect(withContrast('#ffff00', '#ffffff', 3)).toBe('#999900')
  })

  test('colours are read as people write them, and mixed', () => {
    expect([parseColor('#AbC'), parseColor('#0B6B4F')]).toEqual(['#aabbcc', '#0b6b4f'])
    for (const bad of ['', 'red', '#12', '#12345', '#1234567', '0b6b4f', '#ggg'])
      expect(parseColor(bad)).toBeUndefined()
    expect([
      mix('#000000', '#ffffff', 0),
      mix('#000000', '#ffffff', 0.5),
      mix('#102030', '#ffffff', 1),
    ]).toEqual(['#000000', '#808080', '#ffffff'])
  })
})
