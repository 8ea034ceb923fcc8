import { type Cipher, createCipheriv, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { type MadeCodes, madeCodes } from '../../store/taps/codes.ts'
import type { TapOfChip } from '../../store/taps/recorded-taps.ts'

/** The contents of a token: the tap, and the ordinal within its kind. */
export interface SealedContent {
  tapId: number
  ordinal: number
  /** See momentOf. */
  moment: number
  /** False: made before a backup was restored, so another tap may have the same ID by now. */
  isCurrent: boolean
}

export interface SealedTap {
  id: number
  /** ISO 8601 */
  at: string
}

const block = 16
const payloadLength = 8
const ordinals = 2 ** 14
const moments = 2 ** 10

/** False if another tap has reused this ID: IDs of lost taps are given again after a restore. */
export const isOf = (sealed: SealedContent, { at, isEnded }: Pick<TapOfChip, 'at' | 'isEnded'>): boolean =>
  sealed.moment === momentOf(at) && (sealed.isCurrent || Boolean(isEnded))

/**
 * Distinguishes taps with the same ID, which occur if a server lost the first one: the milliseconds of the tap's
 * time.
 */
const momentOf = (at: string): number => Number(at.slice(20, 23))

/**
 * Refs, codes, and cookies of taps: 21 characters of the nanoid alphabet that identify their tap, but only to the
 * daemon, so that none is stored. A payload of 64 bits (tap ID 40, ordinal 14, moment 10), masked, and a tag of 62
 * bits: deterministic authenticated encryption by a synthetic IV (SIV; Rogaway, Shrimpton: A Provable-Security
 * Treatment of the Key-Wrap Problem, Eurocrypt 2006). The tag is a PRF of the payload, and the mask a PRF of the tag.
 * All inputs are one block long, so both are AES-256, under keys of their own for each purpose and era.
 */
export class Seals {
  readonly #eras: readonly EraKeys[]

  /** @param eras names, the current one first: see sealEras */
  constructor(box: SecretBox, eras: readonly string[]) {
    this.#eras = eras.map((era) => ({
      ref: new Kind(box, era, 'ref'),
      code: new Kind(box, era, 'code'),
      cookie: new Kind(box, era, 'cookie'),
    }))
  }

  /** @throws RangeError */
  ref = (tap: SealedTap, ordinal: number): string => this.#seal('ref', tap, ordinal)
  code = (tap: SealedTap, ordinal: number): string => this.#seal('code', tap, ordinal)
  cookie = (tap: SealedTap): string => this.#seal('cookie', tap, 0)

  /** @returns undefined if it was not made with the data key; reads nothing from the store */
  openRef = (text: string): SealedContent | undefined => this.#open('ref', text)
  openCode = (text: string): SealedContent | undefined => this.#open('code', text)
  openCookie = (text: string): SealedContent | undefined => this.#open('cookie', text)

  #seal(purpose: keyof EraKeys, { id, at }: SealedTap, ordinal: number): string {
    const [era] = this.#eras
    if (!era) throw new Error('Seals need an era')
    if (ordinal >= ordinals) throw new RangeError(`A tap has no more than ${ordinals} of a kind`)
    const payload = Buffer.alloc(block)
    payload.writeUIntBE(id, 0, 5)
    payload.writeUIntBE(ordinal * moments + momentOf(at), 5, 3)
    return era[purpose].seal(payload)
  }

  #open(purpose: keyof EraKeys, text: string): SealedContent | undefined {
    if (!/^[A-Za-z0-9_-]{21}$/.test(text)) return undefined
    for (const era of this.#eras) {
      const payload = era[purpose].open(text)
      if (!payload) continue
      const rest = payload.readUIntBE(5, 3)
      return {
        tapId: payload.readUIntBE(0, 5),
        ordinal: Math.floor(rest / moments),
        moment: rest % moments,
        isCurrent: era === this.#eras[0],
      }
    }
    return undefined
  }
}

type EraKeys = Record<'ref' | 'code' | 'cookie', Kind>

/** One purpose, with its own keys. */
class Kind {
  readonly #tag: Cipher
  readonly #mask: Cipher

  constructor(box: SecretBox, era: string, purpose: string) {
    const prf = (use: string) =>
      box.withKey((key) => {
        const derived = new Uint8Array(hkdfSync('sha256', key, era, `tapchip ${purpose} ${use}`, 32))
        return createCipheriv('aes-256-ecb', derived, null).setAutoPadding(false)
      })
    this.#tag = prf('tag')
    this.#mask = prf('mask')
  }

  /** @param payload one block, whose first half is used; it is overwritten */
  seal(payload: Buffer): string {
    const sealed = Buffer.allocUnsafe(block)
    const tag = this.#tagOf(payload)
    tag.copy(sealed, payloadLength)
    this.#addMask(payload, tag)
    payload.copy(sealed, 0, 0, payloadLength)
    // The last two bits are 0, and so is the 22nd digit.
    return sealed.toString('base64url').slice(0, 21)
  }

  open(text: string): Buffer | undefined {
    const sealed = Buffer.from(`${text}A`, 'base64url')
    const tag = sealed.subarray(payloadLength)
    const payload = Buffer.alloc(block)
    sealed.copy(payload, 0, 0, payloadLength)
    this.#addMask(payload, tag)
    return timingSafeEqual(this.#tagOf(payload), tag) ? payload : undefined
  }

  /** 62 bits, followed by two zero bits. */
  #tagOf(payload: Buffer): Buffer {
    const tag = this.#tag.update(payload).subarray(0, payloadLength)
    tag[payloadLength - 1] = (tag[payloadLength - 1] ?? 0) & 0xfc
    return tag
  }

  #addMask(payload: Buffer, tag: Buffer): void {
    const input = Buffer.alloc(block)
    tag.copy(input)
    const mask = this.#mask.update(input)
    for (let at = 0; at < payloadLength; at += 1) payload[at] = (payload[at] ?? 0) ^ (mask[at] ?? 0)
  }
}

/** Codes given by a ref's only query, or by a page's first action. */
export interface IssuedCodes {
  /** ISO 8601 */
  until: string
  /** Code for the chip's token. */
  token?: string
  /** Code that mints the token. */
  unminted?: string
  /** By event ID. */
  badges: Map<number, string>
  guestbooks: Map<number, string>
}

/** The code for the token, whether minted or not. */
export const claimOf = (codes: IssuedCodes | undefined): string | undefined => codes?.token ?? codes?.unminted

/** @param by see MadeCodes @param codes see TapsTable.codes @returns undefined if it was not queried yet */
export function issuedCodes(
  seals: Seals,
  tap: SealedTap,
  codes: string | null,
  by: MadeCodes['by'],
): IssuedCodes | undefined {
  const query = madeCodes(codes).find((one) => one.by === by)
  if (!query) return undefined
  const issued: IssuedCodes = { until: query.until, badges: new Map(), guestbooks: new Map() }
  for (const [at, subject] of query.subjects.entries()) {
    const code = seals.code(tap, query.first + at)
    if (subject.type === 'POAP_EVENT') issued.badges.set(subject.badgeEventId, code)
    else if (subject.type === 'GUESTBOOK_EVENT') issued.guestbooks.set(subject.guestbookEventId, code)
    else issued[subject.tokenRow === null ? 'unminted' : 'token'] = code
  }
  return issued
}
