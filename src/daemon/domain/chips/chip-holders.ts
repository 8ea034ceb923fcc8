import { labelsThere, publicKeysThere } from '../../store/chip-registration.ts'
import type { Queries } from '../../store/database.ts'
import type { CheckedChip, Refusal } from './chip-input.ts'

/** Who has what only one chip can have: a label in the team, a public key anywhere. */
export class Holders {
  readonly #labels: Map<string | null, string>
  readonly #publicKeys: Map<string | null, string>
  private constructor(labels: Map<string | null, string>, publicKeys: Map<string | null, string>) {
    this.#labels = labels
    this.#publicKeys = publicKeys
  }

  static async of(trx: Queries, teamId: number, chips: readonly CheckedChip[]): Promise<Holders> {
    const labels = chips.flatMap(({ given }) => given.label ?? [])
    const keys = chips.flatMap(({ publicKey }) => publicKey ?? [])
    return new Holders(
      new Map(
        (labels.length > 0 ? await labelsThere(trx, teamId, labels) : []).map((row) => [row.label, row.uid]),
      ),
      new Map(
        (keys.length > 0 ? await publicKeysThere(trx, keys) : []).map((row) => [row.publicKey, row.uid]),
      ),
    )
  }

  /** Takes both for a chip, or says who has one of them. */
  claim({ uid, publicKey, given: { label } }: CheckedChip): Refusal | undefined {
    const ofKey = publicKey === null ? undefined : this.#publicKeys.get(publicKey)
    if (ofKey !== undefined)
      return { reason: `publicKey is that of the chip ${ofKey}, which is registered already` }
    const ofLabel = label === undefined ? undefined : this.#labels.get(label)
    if (ofLabel !== undefined)
      return { reason: `label "${label}" belongs to the chip ${ofLabel} of the team. Choose another label` }
    if (publicKey !== null) this.#publicKeys.set(publicKey, uid)
    if (label !== undefined) this.#labels.set(label, uid)
    return undefined
  }
}
