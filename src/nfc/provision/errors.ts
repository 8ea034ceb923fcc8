/** Why a chip is not set up, recovered or reset. Before it is thrown, nothing was written unless it says so. */
export abstract class ProvisionError extends Error {
  /** What to do. */
  readonly advice: string

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.advice = advice
  }
}

/** Only an NTAG 424 DNA can be set up, recovered or reset. */
export class NotNtag424 extends ProvisionError {
  constructor(what: string, options?: ErrorOptions) {
    super(
      `Only an NTAG 424 DNA can be set up, and the card is ${what}`,
      'A HaLo tag needs no set-up: import it by its public key. For others, use an NTAG 424 DNA',
      options,
    )
  }
}

/** The chip shows another UID at each tap, for good: taps could not be told apart from copies before the MAC. */
export class RandomIdChip extends ProvisionError {
  constructor() {
    super('The chip hides its UID behind a random one', 'This cannot be undone. Use another chip')
  }
}

/** Another chip was put down than the one that the plan is for. */
export class WrongChip extends ProvisionError {
  constructor() {
    super('This is another chip than before', 'Lay the first chip down again, or begin anew with this one')
  }
}

/** The chip has keys that are none of the plan's. */
export class ForeignKeys extends ProvisionError {
  /** By key number, as GetKeyVersion gives them. */
  readonly versions: readonly number[]

  constructor(versions: readonly number[], options?: ErrorOptions) {
    super(
      `The chip has keys that are not the expected ones (key versions ${versions.join(' ')})`,
      'It was set up with another key set or by another system. Name the key set that it has, or use another chip',
      options,
    )
    this.versions = versions
  }
}

/**
 * A slot had another key than its version says, which showed when it was to be changed. The chip's key 0 is what it
 * was, and slots before this one may be new: recover or reset by the journal.
 */
export class ForeignKeyInSlot extends ProvisionError {
  readonly keyNo: number

  constructor(keyNo: number, options?: ErrorOptions) {
    super(
      `Key ${keyNo} of the chip is not what its version says`,
      'Another program has changed it. Run nfc reset to free the other keys, and use another chip',
      options,
    )
    this.keyNo = keyNo
  }
}

/** Some keys are old and some new. */
export class TornChip extends ProvisionError {
  constructor() {
    super('The chip was lifted in the middle of its set-up', 'Run tapchip nfc recover with this chip')
  }
}

/** Its settings cannot be changed, not even with key 0, or key 0 takes no authentication any more. */
export class ChipLocked extends ProvisionError {
  constructor(why: string, options?: ErrorOptions) {
    super(`The chip is locked: ${why}`, 'This cannot be undone. Use another chip', options)
  }
}

/** After 50 failed authentications in a row the chip makes whoever tries wait. */
export class ChipWaits extends ProvisionError {
  constructor(options?: ErrorOptions) {
    super(
      'The chip refuses authentication for a while, after many failed ones',
      'Leave it on the reader for a minute, and try again with the right key set',
      options,
    )
  }
}

/** The chip has the planned keys, and another URL or other settings. */
export class OtherTemplate extends ProvisionError {
  constructor() {
    super(
      'The chip is set up with this key set, and shows another URL than it should',
      'Changing it starts its counter again, which needs new keys: use --rekey',
    )
  }
}

/** What was read back is not what was written. */
export class ReadBackMismatch extends ProvisionError {
  constructor(what: string, options?: ErrorOptions) {
    super(`The chip was read back, and ${what}`, 'Lay it down again and run tapchip nfc recover', options)
  }
}
