import type { Brand } from '../access/brand.ts'
import type { StoryEntry } from './story.ts'

export type { Brand, StoryEntry }

/** URLs as in the metadata: https, ipfs, ar, or unusable. */
export interface Picture {
  url: string
  /** Undefined: derived from the URL's extension, or an image. */
  mimeType: string | undefined
}

export const sectionNames = ['care', 'material', 'repair'] as const

export interface PieceSection {
  is: (typeof sectionNames)[number]
  text: string | undefined
  rows: { name: string; value: string }[]
}

/** The object that carries the chip: a token, an item that is not minted yet, or neither. */
export interface Piece {
  kind: 'token' | 'item' | 'chip'
  name: string | undefined
  collection: string | undefined
  description: string | undefined
  image: string | undefined
  video: { url: string; poster: string | undefined } | undefined
  gallery: Picture[]
  /** Values as text, in order, including those of an item's variant. */
  attributes: { name: string; value: string }[]
  /** The metadata's own fields of these names. */
  sections: PieceSection[]
  /** From the metadata; never computed. */
  edition: string | undefined
  token:
    | {
        chainId: number
        chainName: string
        contractAddress: string
        tokenId: string
        url: string | undefined
        /** Of its metadata, below the base URL; undefined: it has none. */
        dataPath?: string | undefined
      }
    | undefined
  /** undefined: unknown, or the chain did not answer in time. */
  owner: Owner | undefined
  /** According to the chain; `owner` is undefined then. */
  isUnowned?: boolean | undefined
}

export interface Owner {
  /** EIP-55 */
  address: string
  name: string | undefined
  /** This browser claimed the token, or registered, for this address. */
  isYours?: boolean
}

export type ActionKind = 'register' | 'claim' | 'badge' | 'guestbook'

/** Which action of a page; `id`: see Action. */
export interface ActionName {
  kind: ActionKind
  id: number
}

/** The name as one word, such as badge-3, for forms and elements. */
export const keyOf = ({ kind, id }: ActionName): string => `${kind}-${id}`

/** An action that the tap allows; its forms contain `kind` and `id`. */
export interface Action {
  kind: ActionKind
  /** ID of the badge or guestbook event; 0: there is only one. */
  id: number
  /** Title of the event (its assignment's title if it has one); empty for claims. */
  title: string
  description: string
  imageUrl: string | undefined
  /** For a badge: its event allows one per device. */
  takesDevice: boolean
  /** For a registration: seconds until the claim opens. */
  waitSeconds?: number
  /** The ENS name that was typed for the state's recipient. */
  name?: string | undefined
  state: ActionState
}

export type ActionState =
  /** Available. `failure`: the last attempt was refused, and nothing was used up. */
  | { is: 'open'; recipient?: string; failure?: Failure }
  /** Dates (YYYY-MM-DD, UTC) of a badge event. */
  | { is: 'closed'; reason: ClosedReason; date?: string }
  /** For a two-tap contract; times are ISO 8601. `isSameTap`: registered with this tap or a later one, so the claim needs another. */
  | {
      is: 'registered'
      recipient: string | undefined
      registeredAt: string
      allowedAt: string
      expiresAt: string
      isSameTap: boolean
      failure?: Failure
    }
  | ({ is: 'pending' } & Result)
  | ({ is: 'confirmed' } & Result)
  /** Completed, as far as this page is concerned. */
  | { is: 'failed'; failure: Failure }

interface Result {
  recipient: string | undefined
  transaction: TransactionView | undefined
  /** This request was for another recipient, and came too late. */
  failure?: Failure
}

/**
 * `kept`: for somebody, by e-mail; `kept-here`: with this tap; `kept-given`: and a wallet got it since. `claimed`: since
 * this tap. `used`: with this tap, but elsewhere. `expired`: this tap's time is over. `withdrawn`: the team deleted the
 * registration.
 */
export type ClosedReason =
  | 'future'
  | 'over'
  | 'not-approved'
  | 'used'
  | 'expired'
  | 'claimed'
  | 'withdrawn'
  | 'kept'
  | 'kept-here'
  | 'kept-given'

/** Keeping what the tap allows for a person without a wallet, by e-mail. `email`: what this page was given. */
export type Reserve =
  /**
   * `isShared`: it was claimed before, so whoever taps it can still claim it. `mayBeKept`: something of the chip was kept
   * before, perhaps for this person.
   */
  | { is: 'open'; email?: string; failure?: Failure; isShared: boolean; mayBeKept?: boolean }
  /** A code was mailed; `until`: ISO 8601. */
  | {
      is: 'asked'
      email: string
      mail: 'queued' | 'sent' | 'failed'
      triesLeft: number
      until: string
      failure?: Failure
    }
  /** `until`: ISO 8601. */
  | { is: 'kept'; mail: 'queued' | 'sent' | 'failed'; until: string; isShared: boolean }
  /** Kept with another tap: whoever has the address can ask for another link. `isAsked`: a mail may be on its way. */
  | { is: 'elsewhere'; email?: string; isAsked?: boolean; failure?: Failure }

export interface TransactionView {
  hash: string
  /** At the chain's explorer; undefined: no explorer is known. */
  url: string | undefined
}

/** `code` is a DomainError's, or `reverted` or `cancelled` for a transaction; the page has its own words for each. */
export interface Failure {
  code: string
  retryAfterSeconds?: number
  /** Only with the code recipient_invalid. */
  mistyped?: InvalidRecipient
}

/** Kinds of invalid recipients, by input. `count`: characters after 0x. */
export type InvalidRecipient =
  | { is: 'unknown-name' | 'wrong-address' | 'other-chain' | 'badge' | 'other' }
  | { is: 'wrong-length'; count: number }

export interface TapPage {
  /** Authorizes what the tap allows; 21 characters. In each form of the page, never in a URL or a log. */
  ref: string
  /** The query of the chip's URL, which forms use to return; undefined: this browser cannot reload the page. */
  query: string | undefined
  uid: string
  /** Path of the chip's public page, below the base URL; undefined: its team has none. */
  publicPage?: string | undefined
  brand: Brand
  /** The team's own texts, as stored. */
  ownWords?: string | null | undefined
  piece: Piece
  /** Set for a TagTamper chip once a tap reported it; `since`: the first tap that reported it open, ISO 8601. */
  tamper?: { is: 'closed' } | { is: 'open'; since: string } | undefined
  /** In order: register, claim, badges, guestbooks. */
  actions: Action[]
  /** Newest first; not read for a change of the cards alone. */
  story?: StoryEntry[] | undefined
  /** Undefined: nothing can be kept, or the daemon sends no mail. */
  reserve?: Reserve | undefined
  /** What the form for several actions was just sent with; it is shown again, even if one action or none is left. */
  collected?: Collected | undefined
  /** Third-party links, each with its own ref. */
  links: { label: string; url: string }[]
  /** ISO 8601; a reload keeps it. */
  tappedAt: string
  /** When the actions end; ISO 8601. */
  endsAt: string
  /** Something is pending or registered, so the page will change. */
  isLive: boolean
  /** Query of the calendar file, if a registration of this browser waits. */
  calendar?: string | undefined
}

/** The form for several actions as it was filled in; undefined parts: as it is at first. */
export interface Collected {
  recipient?: string
  chosen?: readonly ActionName[]
}

/**
 * The actions that one form can do together, with one recipient. Two taps are not among them: each has its own clock, and
 * the second is for the wallet that was registered.
 */
export const collectable = (actions: readonly Action[]): Action[] =>
  actions.filter(
    ({ kind }) =>
      kind !== 'register' && (kind !== 'claim' || !actions.some((other) => other.kind === 'register')),
  )

/** The result of checking a recipient before anything is sent. */
export type RecipientCheck =
  | {
      is: 'good'
      kind: ActionKind | 'collect' | 'collectClaim'
      recipient: {
        is: 'address' | 'name' | 'email'
        /** EIP-55; undefined for an e-mail address, and for a name that the badge provider looks up. */
        address: string | undefined
        name: string | undefined
      }
      /** The claim mints the token. */
      isMint: boolean
      /** For a registration: a valid one of this recipient, whose time goes on; else how long the wait will be. */
      wait?: { openAt: string } | { seconds: number }
    }
  /** `of`: the action of several that it is bad for. */
  | { is: 'bad'; failure: Failure; of?: ActionKind }
