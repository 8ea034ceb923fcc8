import type { AnswerOf, Client, ClientOptions, ElementOf } from '../../client/types.ts'
import { UsageError } from '../../errors.ts'
import { isSameUid } from '../../uid.ts'

export type Chip = AnswerOf<'GET /admin/chips/export'>
export type Tap = ElementOf<'POST /admin/chips/:uid/simulate'> & { readonly label: string | null }

const together = 1000
const maxNamed = 12

/**
 * The chips of a team whose taps the daemon can make, those with a token first: a HaLo chip keeps its key to itself. As
 * many as the seed has.
 */
export async function chipsOf(client: Client, team: string): Promise<readonly Chip[]> {
  const chips: Chip[] = []
  for await (const chip of client.stream('GET /admin/chips/export', { query: { team } }))
    if (chip.publicKey === null && chip.isConfigured) chips.push(chip)
  return chips.sort((a, b) => Number(a.tokenId === null) - Number(b.tokenId === null))
}

export const namesOf = (chips: readonly Chip[]): string => {
  const names = chips.slice(0, maxNamed).map(({ label, uid }) => label ?? uid)
  return [...names, ...(chips.length > maxNamed ? ['…'] : [])].join(', ')
}

/** @param as the key of the chips' team. @throws ApiError if it cannot be a redirect URL */
export async function redirect(
  as: Pick<ClientOptions, 'url' | 'apiKey' | 'wirePrefix'>,
  chips: readonly Chip[],
  redirectUrl: string,
): Promise<void> {
  const { createClient } = await import('../../client/client.ts')
  const client = createClient(as)
  try {
    for (let from = 0; from < chips.length; from += together) {
      const tagUIDs = chips.slice(from, from + together).map(({ uid }) => uid)
      await client.call('PATCH /chips', { body: { tagUIDs, updates: { redirectUrl } } })
    }
  } finally {
    client.close()
  }
}

/** Taps one chip after another; without a name, the same one again. */
export class Taps {
  readonly #client: Client
  readonly #chips: readonly Chip[]
  #last: Chip | undefined

  constructor(client: Client, chips: readonly Chip[]) {
    this.#client = client
    this.#chips = chips
    this.#last = chips[0]
  }

  /** @param name a label or UID. @throws UsageError if there is no such chip */
  async next(name?: string): Promise<Tap> {
    const chip =
      name === undefined
        ? this.#last
        : this.#chips.find(({ uid, label }) => label === name || isSameUid(name, uid))
    if (chip === undefined)
      throw new UsageError(
        name === undefined ? 'There is no chip to tap.' : `No chip has the label or UID "${name}".`,
        this.#chips.length === 0 ? undefined : `There are: ${namesOf(this.#chips)}`,
      )
    this.#last = chip
    const { uid, label } = chip
    const [tap] = await this.#client.call('POST /admin/chips/:uid/simulate', { params: { uid }, body: {} })
    if (tap === undefined) throw new Error('The daemon made no tap.')
    return { ...tap, label }
  }
}
