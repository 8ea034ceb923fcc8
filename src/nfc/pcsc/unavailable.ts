import { ReaderUnavailable } from '../card.ts'

const start = 'Start it: systemctl start pcscd.socket. If it is not installed: apt-get install pcscd'

export const notRunning = (cause?: unknown): ReaderUnavailable =>
  new ReaderUnavailable('pcscd, the service for card readers, is not running', start, { cause })

export const stopped = (): ReaderUnavailable =>
  new ReaderUnavailable('pcscd, the service for card readers, has stopped', start)

export const accessDenied = (path: string, cause?: unknown): ReaderUnavailable =>
  new ReaderUnavailable(
    `pcscd, the service for card readers, denied access to ${path}`,
    'Give yourself access to the readers, as docs/nfc.md describes',
    { cause },
  )

/** polkit refused, or pcscd died at that moment: the two cannot be told apart here. */
export const connectionRefused = (): ReaderUnavailable =>
  new ReaderUnavailable(
    'pcscd, the service for card readers, ended the connection at once',
    'Give yourself access to the readers, as docs/nfc.md describes. If you have it: systemctl restart pcscd',
  )

export const notResponding = (detail: string): ReaderUnavailable =>
  new ReaderUnavailable(
    `The readers do not respond (${detail})`,
    'Unplug the reader and plug it in again. If that does not help: systemctl restart pcscd',
  )

export const hostFailed = (reason: string): ReaderUnavailable =>
  new ReaderUnavailable(
    `The process that talks to the readers ended (${reason})`,
    'Try again. If it keeps happening: systemctl restart pcscd',
  )

export const noBackend = (reasons: string): ReaderUnavailable =>
  new ReaderUnavailable(
    `No library for card readers is installed (${reasons})`,
    'apt-get install libpcsclite-dev pkg-config, and then npm rebuild @pokusew/pcsclite',
  )

export const closed = (): ReaderUnavailable =>
  new ReaderUnavailable('The readers were closed', 'Open them again')
