import { randomBytes } from 'node:crypto'
import { EmulatedCard } from '../../src/nfc/emulator/card.ts'
import { factoryMemory } from '../../src/nfc/emulator/memory.ts'
import { VirtualNtag424 } from '../../src/nfc/emulator/ntag424.ts'
import { an10922, chipKeyInput, planKeys } from '../../src/nfc/ntag424/diversify.ts'
import { apply } from '../../src/nfc/provision/apply.ts'
import { inspect } from '../../src/nfc/provision/inspect.ts'
import { ofKeySets, plan } from '../../src/nfc/provision/plan.ts'
import { runScript } from '../../src/nfc/script.ts'
import { uidFromBytes } from '../../src/nfc/uid.ts'
import { type SeedKeySet, textOf } from './taps.ts'

/** A virtual chip as it leaves `nfc provision`, under a key set of a seed. @param uid 14 hex digits */
export async function setUpChip(
  set: SeedKeySet,
  uid: string,
  { baseUrl = 'https://n.example', text = textOf(set) } = {},
): Promise<VirtualNtag424> {
  const bytes = Buffer.from(uid, 'hex')
  const chip = new VirtualNtag424(factoryMemory(bytes))
  const made = plan({
    uid: uidFromBytes(bytes),
    from: ['factory'],
    target: { keySet: set.id, generation: 0 },
    template: { baseUrl, text },
  })
  const card = new EmulatedCard('set-up', chip)
  await runScript(
    card,
    (function* () {
      return yield* apply(made, yield* inspect(), {
        keysOf: ofKeySets(({ generation }, of) => keysOf(set, of, generation)),
        random: randomBytes,
      })
    })(),
  )
  card.lift()
  return chip
}

function keysOf(set: SeedKeySet, uid: Uint8Array, generation: number) {
  const input = { uid, systemIdentifier: Buffer.from(set.systemIdentifier ?? '', 'hex'), generation }
  const master = Buffer.from(set.fileReadKey, 'hex')
  return planKeys({
    ...input,
    applicationMaster: Buffer.alloc(16, 0xa1),
    fileRead: set.diversification === 'none' ? master : an10922(master, chipKeyInput(input)),
    metaRead: Buffer.from(set.metaReadKey, 'hex'),
  })
}
