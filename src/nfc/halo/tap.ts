import { createHash, type KeyObject, verify } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1'
import { isHaloKey, keyOfPoint, notAHaloKey, parseHaloPublicKey } from '../../values/halo-public-key.ts'

// A HaLo chip signs a counter and random bytes with its key 2, and shows both in the URL.
// Source: libhalo, docs/halo-command-set.md (sign_random) and its rnd_rndsig_validation example. Older chips show the same
// bytes in `cmd`, and sign them as they are. Source: docs.arx.org/HaLo/non-interactive

/** Older chips put pk1 and pk2 into `static`. Other tags may have a `cmd` or `res` too. */
const ownParameters = ['static', 'pk1', 'pk2', 'rnd', 'rndsig'] as const
export const haloParameters = [...ownParameters, 'cmd', 'res'] as const
type HaloParameter = (typeof haloParameters)[number]

/**
 * Where a chip shows its counter: `cmd` in chips of the older family. One chip never has both: the digest that a newer
 * one signs would pass for the counter and random bytes of an older one, and a used tap for another, new one.
 */
export type HaloForm = 'rnd' | 'cmd'
export type HaloParams = Readonly<Partial<Record<HaloParameter, string | undefined>>>

/** An unverified tap. */
interface HaloTap {
  /** 65 bytes, uncompressed; undefined when the URL has only pk2, which signs taps. */
  readonly pk1: Buffer | undefined
  /** 65 bytes, uncompressed. */
  readonly pk2: Buffer
  readonly form: HaloForm
  /** 32 bytes: the counter and 28 random bytes. */
  readonly rnd: Buffer
  /** A DER signature without the padding that chips append. */
  readonly rndsig: Buffer
  /** 0 to 4294967295; the first four bytes of rnd. */
  readonly counter: number
}

type HaloTapParse =
  | { readonly ok: true; readonly tap: HaloTap }
  /** `reason` can follow the parameter's name. */
  | { readonly ok: false; readonly parameter: HaloParameter; readonly reason: string }

const PUBLIC_KEY = 65
const RND = 32
/** A chip that was given no command signs what it makes by itself. */
const OWN_CHALLENGE = Buffer.of(0x81, 0x02)
/**
 * Nobody taps a chip this often. One in 65,536 taps of a newer chip passes for one of an older chip; if that were
 * common, anyone who held the chip for a while before its first tap here could make it an older one.
 */
const MAX_COUNTER_IN_CMD = 0xffff
const TAP_PREFIX = Buffer.from('\x19Attest counter pk2:\n')
const ATTESTATION_PREFIX = Buffer.from('\x19Attest pk2:\n')

/** The manufacturer's key, which signs the pk2 of genuine chips: 33 bytes, compressed. */
const ATTESTOR = Buffer.from('029502cb849e4d9e451687a239f3feee74e0c0cdebb10dc8c2a00b3744ffdafb35', 'hex')

/** True for malformed taps of HaLo chips as well. */
export function isHaloTap(params: HaloParams): boolean {
  return ownParameters.some((name) => isPresent(params[name]))
}

/** `static` takes precedence over pk1 and pk2. */
export function parseHaloTap(params: HaloParams): HaloTapParse {
  const keys = isPresent(params.static) ? keysFromStatic(params.static) : keysFromParameters(params)
  if (!keys.ok) return keys
  const { pk1, pk2 } = keys
  if (!isPresent(params.rnd) && isPresent(params.cmd)) {
    const cmd = bytes(params.cmd)
    if (cmd?.length !== OWN_CHALLENGE.length + RND + 1) return invalid('cmd', 'must be 70 hex digits')
    const rnd = cmd.subarray(OWN_CHALLENGE.length, -1)
    const counter = rnd.readUInt32BE(0)
    if (!cmd.subarray(0, OWN_CHALLENGE.length).equals(OWN_CHALLENGE) || counter > MAX_COUNTER_IN_CMD)
      return invalid(
        'cmd',
        'has no counter, so a copy of this URL could not be told from a tap. HaLo chips from version c3 on have one; ' +
          'it begins with 8102 where no app has sent the chip a command. Tap again, or use a newer chip',
      )
    const rndsig = trimDer(bytes(params.res))
    if (rndsig === undefined) return invalid('res', 'must be a DER signature in hex')
    return { ok: true, tap: { form: 'cmd', pk1, pk2, rnd, rndsig, counter } }
  }
  const rnd = bytes(params.rnd)
  if (rnd?.length !== RND) return invalid('rnd', 'must be 64 hex digits')
  const rndsig = trimDer(bytes(params.rndsig))
  if (rndsig === undefined) return invalid('rndsig', 'must be a DER signature in hex')
  return { ok: true, tap: { form: 'rnd', pk1, pk2, rnd, rndsig, counter: rnd.readUInt32BE(0) } }
}

/**
 * Verifies the chip's signature, which does not prove whose chip it is: look up pk2, or check its attestation.
 * @param key a cached key of the tap's pk2
 */
export function verifyHaloTap(
  tap: Pick<HaloTap, 'form' | 'pk2' | 'rnd' | 'rndsig'>,
  key = keyOfPoint(tap.pk2),
): boolean {
  if (tap.form === 'cmd') return isDigestSigned(tap.rnd, tap.pk2, tap.rndsig)
  return key !== undefined && signed(Buffer.concat([TAP_PREFIX, tap.rnd]), key, tap.rndsig)
}

/**
 * Verifies the manufacturer's signature of a chip's key. @public @param pk2 65 bytes @param attestation a DER signature, with
 * or without the two bytes that chips prepend @param attestor 33 bytes, compressed
 */
export function verifyHaloAttestation(
  pk2: Uint8Array,
  attestation: Uint8Array,
  attestor: Uint8Array = ATTESTOR,
): boolean {
  const key = keyOfPoint(attestor)
  const signature = trimDer(attestation) ?? trimDer(attestation.subarray(2))
  if (key === undefined || signature === undefined || pk2.length !== PUBLIC_KEY) return false
  return signed(Buffer.concat([ATTESTATION_PREFIX, pk2]), key, signature)
}

/**
 * Derives the UID of a chip that was registered without one: the first 7 bytes of SHA-256(pk2) without the top three
 * bits, as a decimal string. It stays below 2^53 since clients parse it as a number.
 * @param pk2 65 bytes, uncompressed @throws RangeError
 */
export function haloUid(pk2: Uint8Array): string {
  if (!isHaloKey(pk2)) throw new RangeError('A HaLo public key has 65 bytes and begins with 04')
  const digest = createHash('sha256').update(pk2).digest()
  return String((digest.readUIntBE(0, 3) & 0x1fffff) * 2 ** 32 + digest.readUInt32BE(3))
}

type Keys = { ok: true; pk1: Buffer | undefined; pk2: Buffer } | Extract<HaloTapParse, { ok: false }>

/** The format is 41 ‖ 65 bytes for each key, up to a zero length or the end. Further keys are ignored. */
function keysFromStatic(hex: string): Keys {
  const all = bytes(hex)
  if (all === undefined) return invalid('static', 'must be hex digits')
  const keys: Buffer[] = []
  for (let at = 0; at < all.length && all[at] !== 0 && keys.length < 2; at += 1 + PUBLIC_KEY) {
    const key = all.subarray(at + 1, at + 1 + PUBLIC_KEY)
    if (all[at] !== PUBLIC_KEY || !isHaloKey(key))
      return invalid('static', `must hold keys of 65 bytes, unlike the one at byte ${at}`)
    keys.push(key)
  }
  const [pk1, pk2] = keys
  return pk2 === undefined ? invalid('static', 'must hold two keys') : { ok: true, pk1, pk2 }
}

function keysFromParameters(params: HaloParams): Keys {
  const pk1 = isPresent(params.pk1) ? parseHaloPublicKey(params.pk1) : undefined
  if (isPresent(params.pk1) && pk1 === undefined) return invalid('pk1', notAHaloKey)
  const pk2 = parseHaloPublicKey(params.pk2 ?? '')
  return pk2 === undefined ? invalid('pk2', notAHaloKey) : { ok: true, pk1, pk2 }
}

function invalid(parameter: HaloParameter, reason: string): Extract<HaloTapParse, { ok: false }> {
  return { ok: false, parameter, reason }
}

function isPresent(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}

function bytes(hex: string | undefined): Buffer | undefined {
  return hex !== undefined && /^([0-9A-Fa-f]{2})+$/.test(hex) ? Buffer.from(hex, 'hex') : undefined
}

/** Cuts a DER sequence to its length, since chips write it into a longer field of fixed size. */
function trimDer(padded: Uint8Array | undefined): Buffer | undefined {
  const length = padded?.[1]
  if (padded?.[0] !== 0x30 || length === undefined || length >= 0x80 || length + 2 > padded.length)
    return undefined
  return Buffer.from(padded.subarray(0, length + 2))
}

function signed(message: Buffer, key: KeyObject, signature: Buffer): boolean {
  try {
    return verify('sha256', message, key, signature)
  } catch {
    return false
  }
}

/** node:crypto hashes whatever it verifies. */
function isDigestSigned(digest: Uint8Array, point: Uint8Array, signature: Uint8Array): boolean {
  try {
    return secp256k1.verify(signature, digest, point, { prehash: false, lowS: false, format: 'der' })
  } catch {
    return false
  }
}

/** @returns undefined when the URL is not a HaLo tag's */
export function haloUrlParameters(url: string): HaloParams | undefined {
  const at = url.indexOf('?')
  if (at < 0) return undefined
  const query = new URLSearchParams(url.slice(at + 1).split('#', 1)[0])
  const params: HaloParams = Object.fromEntries(
    haloParameters.map((name) => [name, query.get(name) ?? undefined]),
  )
  return isHaloTap(params) ? params : undefined
}
