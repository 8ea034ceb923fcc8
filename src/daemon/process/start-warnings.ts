import { statSync } from 'node:fs'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../http/forwarded.ts'

export const startWarnings = (config: Config): string[] => [
  ...config.warnings,
  ...unknownProxy(config),
  ...deadLinks(config),
  ...(config.keystore === undefined ? [] : openToOthers(config.keystore.passwordFile)),
]

/** The password protects all the keys once someone copies or backs up the keystore. */
function openToOthers(passwordFile: string): string[] {
  const mode = statSync(passwordFile, { throwIfNoEntry: false })?.mode ?? 0
  if ((mode & 0o077) === 0) return []
  return [
    `The keystore's password file ${passwordFile} can be read by others (mode ${(mode & 0o777).toString(8)}). Restrict it: chmod 600 ${passwordFile}`,
  ]
}

/**
 * The daemon speaks no TLS, and loopback cannot be reached from elsewhere, so there must be a proxy in front of
 * it.
 */
function unknownProxy({ baseUrl, host, trustProxy }: Config): string[] {
  if (baseUrl === undefined || trustProxy !== undefined) return []
  const { protocol, hostname } = new URL(baseUrl)
  if (isLoopback(hostname) || !(protocol === 'https:' || isLoopback(host))) return []
  return [
    `${baseUrl} is served through a proxy, but TAPCHIP_TRUST_PROXY is not set, so all visitors share one rate limit. Set it to the number of proxies, such as 1, or to their networks.`,
  ]
}

/** A mail is read on a phone, whatever the chips' own URLs begin with. */
function deadLinks({ baseUrl, host, mail }: Config): string[] {
  const hostname = baseUrl === undefined ? host.replace('::1', '[::1]') : new URL(baseUrl).hostname
  if (mail === undefined || !isLoopback(hostname)) return []
  return [
    `The links in mails lead to ${hostname}, which no phone reaches. Set TAPCHIP_BASE_URL to the address that people's phones open.`,
  ]
}
