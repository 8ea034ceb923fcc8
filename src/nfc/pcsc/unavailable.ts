import { ReaderUnavailable } from '../card.ts'

// Why readers cannot be reached, each with what to do about it.

const start = 'Start it: systemctl start pcscd.socket. Where it is missing: apt-get install pcscd'

export const notRunning = (cause?: unknown): ReaderUnavailable =>
  new ReaderUnavailable('pcscd, the service for card readers, does not run', start, { cause })

export const wentAway = (): ReaderUnavailable =>
  new ReaderUnavailable('pcscd, the service for card readers, went away', start)

export const notAllowed = (path: string, cause?: unknown): ReaderUnavailable =>
  new ReaderUnavailable(
    `pcscd, the service for card readers, lets you not in at ${path}`,
    'Give yourself access to the readers: docs/nfc.md says how',
    { cause },
  )

/** polkit says no, or pcscd died just then: the two look the same from here. */
export const turnedAway = (): ReaderUnavailable =>
  new ReaderUnavailable(
    'pcscd, the service for card readers, ended the connection at once',
    'Give yourself access to the readers: docs/nfc.md says how. If you have it: systemctl restart pcscd',
  )

export const silent = (what: string): ReaderUnavailable =>
  new ReaderUnavailable(
    `The readers do not answer (${what})`,
    'Unplug the reader and plug it in again; if that is not enough: systemctl restart pcscd',
  )

export const broken = (how: string): ReaderUnavailable =>
  new ReaderUnavailable(
    `The process that talks to the readers ended (${how})`,
    'Try again; if it goes on: systemctl restart pcscd',
  )

export const noBackend = (reasons: string): ReaderUnavailable =>
  new ReaderUnavailable(
    `No library for card readers is installed (${reasons})`,
    'apt-get install libpcsclite-dev pkg-config, and then npm rebuild @pokusew/pcsclite',
  )

export const closed = (): ReaderUnavailable =>
  new ReaderUnavailable('The readers were closed', 'Open them again')
