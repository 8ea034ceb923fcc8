import type { AnswerOf } from '../../client/types.ts'
import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { colons } from '../../uid.ts'
import { chipOnWire } from '../chip-handle.ts'
import { token } from '../token.ts'

type Chip = AnswerOf<'GET /admin/chips/:uid'>

export const uidArgument = { uid: argument('uid', 'The UID, in decimal or hex, or the label of the chip') }

/** Path parameters of a chip named by a person. */
export const chipParams = async (ctx: CliContext, text: string): Promise<{ uid: string }> => ({
  uid: await chipOnWire(ctx, text),
})

const named = (list: readonly { id: number; name: string }[]) => list.map(({ id, name }) => `${name} (${id})`)

export const fieldsOfChip = (chip: Chip) => ({
  UID: chip.uid,
  Hex: colons(chip.uid),
  Label: chip.label,
  Team: chip.team,
  'Chip group': `${chip.chipGroup.name} (${chip.chipGroup.id})`,
  Family: chip.family,
  'Key set': chip.keySet,
  Generation: chip.generation,
  'Public key': chip.publicKey ?? undefined,
  'Redirect URL': chip.redirectUrl,
  Item:
    chip.item && `${chip.item.name} (${chip.item.id}${chip.item.variant ? `, ${chip.item.variant}` : ''})`,
  Token: token(chip.linkedToken),
  Owner: chip.linkedToken && (chip.linkedToken.ownerAddress ?? chip.linkedToken.ownerNote ?? 'nobody yet'),
  'Badge events': named(chip.badgeEvents),
  Guestbook: named(chip.guestbookEvents),
  Configured: chip.isConfigured,
  Simulated: chip.isSimulated,
  'Last counter': chip.lastCounter,
  'Last tap': chip.lastTapAt,
  Seal: chip.openedAt ? `open (${chip.openedAt})` : (chip.tamper ?? undefined),
  Disabled: chip.disabledAt && `${chip.disabledAt}${chip.disabledReason ? ` (${chip.disabledReason})` : ''}`,
  'Public page': chip.publicPage ?? undefined,
  'Replaced by': chip.replacedBy ?? undefined,
  Created: chip.createdAt,
})

export const printChip = (ctx: CliContext, chip: Chip): Promise<void> => ctx.io.one(chip, fieldsOfChip)
