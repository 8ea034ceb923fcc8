import { neededContrast, plainBackground } from '../../../values/brand.ts'
import { contrast, parseColor, withContrast } from '../../../values/contrast.ts'
import type { ElementOf } from '../../api.ts'

export type Team = ElementOf<'GET /admin/teams'>
type Brand = Team['brand']
export type Field = keyof Brand
export const fields = ['name', 'color', 'background', 'logoUrl'] as const satisfies readonly Field[]
const isColor = (field: Field): boolean => field === 'color' || field === 'background'

/** As typed; empty: the page's own. */
export type Draft = Readonly<Record<Field, string>>

export const draftOf = (brand: Brand): Draft => ({
  name: brand.name ?? '',
  color: brand.color ?? '',
  background: brand.background ?? '',
  logoUrl: brand.logoUrl ?? '',
})

const valueIn = (draft: Draft, field: Field): string | null => {
  const text = draft[field].trim()
  if (text === '') return null
  return isColor(field) ? (parseColor(text) ?? text) : text
}

/** The fields that differ, to be saved. */
export function changesOf(brand: Brand, draft: Draft): Partial<Brand> {
  const changes: Partial<Brand> = {}
  for (const field of fields) {
    const value = valueIn(draft, field)
    if (value !== brand[field]) changes[field] = value
  }
  return changes
}

export const isUnreadable = (draft: Draft, field: Field): boolean => {
  const value = valueIn(draft, field)
  return isColor(field) && value !== null && parseColor(value) === undefined
}

/** Why the daemon would refuse the colour, and the nearest one that it takes. */
export function lowContrast(draft: Draft): { readonly has: number; readonly nearest: string } | undefined {
  const color = parseColor(draft.color.trim())
  const background = draft.background.trim() === '' ? plainBackground : parseColor(draft.background.trim())
  if (color === undefined || background === undefined) return undefined
  const has = contrast(color, background)
  if (has >= neededContrast) return undefined
  // Rounded down, so that 2.97 is not shown as the 3 that it lacks.
  return { has: Math.floor(has * 10) / 10, nearest: withContrast(color, background, neededContrast) }
}

/** As the preview takes it: unsaved values in place of the team's. */
export const triedLook = (brand: Brand, draft: Draft): Record<string, string> => {
  const changes = changesOf(brand, draft)
  const query: Record<string, string> = {}
  for (const field of fields) {
    const value = changes[field]
    if (value !== undefined) query[`brand${field.charAt(0).toUpperCase()}${field.slice(1)}`] = value ?? ''
  }
  return query
}
