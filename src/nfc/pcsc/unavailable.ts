import { ReaderUnavailable } from '../card.ts'

/** What people are told of readers, in the words of their system. */
interface Words {
  /** The service behind the readers. */
  readonly service: string
  readonly start: string
  /** For when unplugging the reader did not help. */
  readonly restart: string
  readonly installLibrary: string
  readonly plugIn: string
}

const emulator = 'or use --reader emulator'
const pcscMini = (system: string): string =>
  `npm install --no-save @pcsc-mini/${system.replace('*', process.arch === 'arm64' ? 'aarch64' : 'x86_64')}@0.1.3`

const linux: Words = {
  service: 'pcscd, the service for card readers,',
  start: 'Start it: systemctl start pcscd.socket. If it is not installed: apt-get install pcscd',
  restart: 'systemctl restart pcscd',
  installLibrary: 'apt-get install libpcsclite-dev pkg-config, and then npm rebuild @pokusew/pcsclite',
  plugIn: `Plug one in, ${emulator}`,
}

const macOs: Words = {
  service: 'The smart card service of macOS',
  start: 'Unplug the reader and plug it in again: macOS starts its service by itself',
  restart:
    "use another driver than Apple's own CCID driver, which macOS has from 14 on: sudo defaults write " +
    '/Library/Preferences/com.apple.security.smartcard useIFDCCID -bool yes, and plug the reader in again',
  installLibrary: pcscMini('macos-*'),
  plugIn: `Plug one in (some, such as the ACR122U, need the driver from their maker), ${emulator}`,
}

const windows: Words = {
  service: 'The Smart Card service of Windows (SCardSvr)',
  start:
    'Plug a reader in: Windows starts the service at the first one. If it does not, in a PowerShell of an administrator: ' +
    'Start-Service SCardSvr',
  restart:
    "Restart-Service SCardSvr, in a PowerShell of an administrator, or install the driver from the reader's maker",
  installLibrary: pcscMini('windows-*-node'),
  plugIn: `Plug one in (Windows may need the driver from its maker), ${emulator}`,
}

export const readerWords = (platform: NodeJS.Platform): Words =>
  platform === 'darwin' ? macOs : platform === 'win32' ? windows : linux

/** What the libraries say without a service. Source: pcsclite.h, SCARD_E_NO_SERVICE and SCARD_E_SERVICE_STOPPED */
const withoutService = /NoService|ServiceStopped|8010001[DE]/i

export const readerErrors = (platform: NodeJS.Platform) => {
  const { service, start, restart, installLibrary } = readerWords(platform)
  const unavailable = (message: string, advice: string, cause?: unknown): ReaderUnavailable =>
    new ReaderUnavailable(message, advice, { cause })
  const access = 'Give yourself access to the readers, as docs/nfc.md describes'
  const notRunning = (cause?: unknown) => unavailable(`${service} is not running`, start, cause)
  return {
    notRunning,
    stopped: () => unavailable(`${service} has stopped`, start),
    accessDenied: (path: string, cause?: unknown) =>
      unavailable(`${service} denied access to ${path}`, access, cause),
    /** polkit refused, or pcscd died at that moment: the two cannot be told apart here. */
    connectionRefused: () =>
      unavailable(`${service} ended the connection at once`, `${access}. If you have it: ${restart}`),
    notResponding: (detail: string) =>
      unavailable(
        `The readers do not respond (${detail})`,
        `Unplug the reader and plug it in again. If that does not help: ${restart}`,
      ),
    hostFailed: (reason: string) =>
      withoutService.test(reason)
        ? notRunning(reason)
        : unavailable(
            `The process that talks to the readers ended (${reason})`,
            `Try again. If it keeps happening: ${restart}`,
          ),
    noBackend: (reasons: string) =>
      unavailable(`No library for card readers is installed (${reasons})`, installLibrary),
    closed: () => unavailable('The readers were closed', 'Open them again'),
  }
}

export type ReaderErrors = ReturnType<typeof readerErrors>
