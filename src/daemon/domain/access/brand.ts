import { checkBrandColors } from '../../../values/brand.ts'
import { updateTeam } from '../../store/access/teams.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import type { Queries } from '../../store/database/database.ts'
import type { TeamRow } from '../../store/schema/schema.ts'
import { invalid } from '../errors/errors.ts'

/** The look of a team's tap pages; null: the page's own. Colours: `#rrggbb`. */
export interface Brand {
  name: string | null
  color: string | null
  background: string | null
  /** https, ipfs, or ar */
  logoUrl: string | null
}

type Row = Pick<TeamRow, 'brandName' | 'brandColor' | 'brandBackground' | 'brandLogoUrl'>

export const brandOf = (row: Row): Brand => ({
  name: row.brandName,
  color: row.brandColor,
  background: row.brandBackground,
  logoUrl: row.brandLogoUrl,
})

/** Absent fields stay as they are. */
export type NewBrand = { [field in keyof Brand]?: string | null | undefined }

const columns = {
  name: 'brandName',
  color: 'brandColor',
  background: 'brandBackground',
  logoUrl: 'brandLogoUrl',
} as const

/**
 * Returns the columns to set. New colours are checked together with the unchanged ones.
 * @throws DomainError invalid_input, with the nearest acceptable colour
 */
export function brandColumns(team: Row, brand: NewBrand): Partial<Row> {
  const set: Partial<Row> = {}
  for (const field of ['name', 'color', 'background', 'logoUrl'] as const) {
    const value = brand[field]
    if (value !== undefined) set[columns[field]] = value
  }
  const { brandColor, brandBackground } = { ...team, ...set }
  const isRecolored = set.brandColor !== undefined || set.brandBackground !== undefined
  const problem =
    isRecolored && brandColor !== null ? checkBrandColors(brandColor, brandBackground) : undefined
  if (problem !== undefined) throw invalid('brand.color', `${brandColor} ${problem}`)
  return set
}

/** A step of a larger write, for a seed: an existing look is kept. @throws DomainError invalid_input */
export async function ensureBrandIn(
  trx: Queries,
  { team, actor, at }: { team: TeamRow; actor: Actor; at: string },
  brand: NewBrand,
): Promise<void> {
  if (Object.values(brandOf(team)).some((value) => value !== null)) return
  const set = brandColumns(team, brand)
  if (Object.keys(set).length === 0) return
  await updateTeam(trx, team.id, set)
  await recordChange(trx, {
    at,
    actor,
    teamId: team.id,
    action: 'teams.edit',
    target: team.name,
    detail: set,
  })
}
