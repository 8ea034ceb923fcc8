import { existingLabels, existingPublicKeys } from '../../store/chips/chip-registration.ts'
import type { ChipWithToken } from '../../store/chips/chips.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'
import type { CheckedChip, Refusal } from './chip-input.ts'
import { chipKeyContext } from './key-ring.ts'

interface Destination {
  teamId: number
  chipGroupId: number
  isSimulated: boolean
}

/** Does not name the team: whoever has a credential for all teams can look it up. */
export const inAnotherTeam =
  'The chip is registered in another team. Remove it there first (tapchip chips show names the team, with a credential for all teams), or check the UID'

/** @param group name of the registered chip's group @returns undefined if the chip matches */
export function differenceTo(
  box: SecretBox,
  destination: Destination,
  chip: CheckedChip,
  there: ChipWithToken,
  group: string | undefined,
): string | undefined {
  if (there.teamId !== destination.teamId) {
    return inAnotherTeam
  }
  if (there.family !== chip.family || there.keySetId !== chip.keySetId) {
    const now = there.family === 'halo' ? 'a HaLo chip' : `a chip of the key set ${there.keySetId}`
    return `The chip is registered as ${now}. Remove it first if that was a mistake, or correct the key set`
  }
  if (there.chipGroupId !== destination.chipGroupId) {
    return `The chip is registered in another chip group, "${group ?? there.chipGroupId}". Name that group, or remove the chip first`
  }
  if (destination.isSimulated && there.simulated === 0) {
    return 'The chip is registered as a physical chip, which cannot become a simulated chip. Use another UID'
  }
  const columns = differingColumns(box, chip, there)
  if (columns.length === 0) return undefined
  return `The chip is registered with a different ${columns.join(', ')}. Nothing was changed: edit or link the chip, or remove it first`
}

function differingColumns(
  box: SecretBox,
  { input, publicKey, fileReadKey, metaReadKey }: CheckedChip,
  there: ChipWithToken,
): string[] {
  const isOther = (value: string | null | undefined, current: string | null) =>
    Boolean(value) && value !== current
  return [
    isOther(publicKey, there.publicKey) && 'publicKey',
    isOther(input.label, there.label) && 'label',
    isOther(input.redirectUrl, there.redirectUrl) && 'redirectUrl',
    isOther(input.item, there.itemId) && 'item',
    isOther(input.variant, there.variantId) && 'variant',
    input.token &&
      isOther(input.token.contractAddress.toLowerCase(), there.linkedAddress?.toLowerCase() ?? null) &&
      'contractAddress',
    input.token && input.token.chainId !== there.linkedChainId && 'chainId',
    input.token && isOther(input.token.tokenId, there.linkedTokenId) && 'tokenId',
    // Taps after the first import may have advanced the counter.
    input.lastCounter !== undefined && input.lastCounter > there.lastCounter && 'lastCounter',
    fileReadKey && !isSameKey(box, fileReadKey, there, 'fileRead') && 'fileReadKey',
    metaReadKey && !isSameKey(box, metaReadKey, there, 'metaRead') && 'metaReadKey',
  ].filter((column) => typeof column === 'string')
}

function isSameKey(
  box: SecretBox,
  key: Buffer,
  chip: ChipWithToken,
  which: 'fileRead' | 'metaRead',
): boolean {
  const sealed = chip[`${which}Key`]
  return sealed !== null && box.open(sealed, chipKeyContext(chip.uid, which)).equals(key)
}

/** Labels are unique in a team, and public keys are unique across teams. */
export class Holders {
  readonly #labels: Map<string | null, string>
  readonly #publicKeys: Map<string | null, string>
  private constructor(labels: Map<string | null, string>, publicKeys: Map<string | null, string>) {
    this.#labels = labels
    this.#publicKeys = publicKeys
  }

  static async of(trx: Queries, teamId: number, chips: readonly CheckedChip[]): Promise<Holders> {
    const labels = chips.flatMap(({ input }) => input.label ?? [])
    const keys = chips.flatMap(({ publicKey }) => publicKey ?? [])
    return new Holders(
      new Map(
        (labels.length > 0 ? await existingLabels(trx, teamId, labels) : []).map((row) => [
          row.label,
          row.uid,
        ]),
      ),
      new Map(
        (keys.length > 0 ? await existingPublicKeys(trx, keys) : []).map((row) => [row.publicKey, row.uid]),
      ),
    )
  }

  /** Reserves the label and the public key for the chip. */
  claim({ uid, publicKey, input: { label } }: CheckedChip): Refusal | undefined {
    const ofKey = publicKey === null ? undefined : this.#publicKeys.get(publicKey)
    if (ofKey !== undefined)
      return { reason: `publicKey belongs to the chip ${ofKey}, which is already registered` }
    const ofLabel = label === undefined ? undefined : this.#labels.get(label)
    if (ofLabel !== undefined)
      return { reason: `label "${label}" belongs to the chip ${ofLabel} of the team. Choose another label` }
    if (publicKey !== null) this.#publicKeys.set(publicKey, uid)
    if (label !== undefined) this.#labels.set(label, uid)
    return undefined
  }
}
