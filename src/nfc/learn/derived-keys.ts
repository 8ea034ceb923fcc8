import type { Diversification } from '../../values/diversifications.ts'
import { AesKey } from '../ntag424/cmac.ts'
import {
  boltcardMetaRead,
  fileReadKeys,
  sdmBackendLegacyMetaRead,
  sdmBackendMetaRead,
} from '../ntag424/diversify.ts'

/** A key that the operator has, or the factory's. */
export interface OwnKey {
  /** 16 bytes. */
  readonly bytes: Buffer
  readonly name: string
}

export interface MetaReadKey {
  readonly key: AesKey
  readonly bytes: Buffer
  readonly name: string
}

export interface FileReadKey {
  readonly key: AesKey
  readonly own: OwnKey
  readonly diversification: Exclude<Diversification, 'listed'>
  /** Hex. */
  readonly systemIdentifier: string
}

/** AN10922's own example, which many took over: AID 3042F5 and "NXP Abu". */
const exampleIdentifier = '3042f54e585020416275'

// The slow one is last.
const derivations: readonly Pick<FileReadKey, 'diversification' | 'systemIdentifier'>[] = [
  { diversification: 'none', systemIdentifier: '' },
  { diversification: 'an10922', systemIdentifier: '' },
  { diversification: 'an10922', systemIdentifier: exampleIdentifier },
  { diversification: 'boltcard', systemIdentifier: '' },
  { diversification: 'boltcard', systemIdentifier: '01000000' },
  { diversification: 'sdm-backend', systemIdentifier: '' },
  { diversification: 'sdm-backend-legacy', systemIdentifier: '' },
]

/** The keys that may decrypt PICC data: those that the operator has, and those that tools derive from them. */
export function metaReadKeys(own: readonly OwnKey[]): readonly MetaReadKey[] {
  const derived = (name: string, derive: (bytes: Uint8Array) => Buffer) =>
    own.map((one) => ({ bytes: derive(one.bytes), name: `${name} of ${one.name}` }))
  const all = [
    ...own,
    ...derived('the K1 (bolt card)', boltcardMetaRead),
    ...derived('the PICC data key (sdm-backend)', sdmBackendMetaRead),
    ...derived('the PICC data key (sdm-backend, legacy)', sdmBackendLegacyMetaRead),
  ]
  return all.map(({ bytes, name }) => ({ bytes, name, key: new AesKey(bytes) }))
}

/** The keys that a chip with this UID may make its MACs with. */
export function fileReadKeysOf(own: readonly OwnKey[], uid: Uint8Array): readonly FileReadKey[] {
  return derivations.flatMap((how) =>
    own.map((one) => {
      const systemIdentifier = Buffer.from(how.systemIdentifier, 'hex')
      const { diversification } = how
      const key = fileReadKeys({ diversification, master: one.bytes, systemIdentifier })(uid, 0)
      return { ...how, key, own: one }
    }),
  )
}
