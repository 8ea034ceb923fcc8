import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
const succeeds = (command, ...args) => spawnSync(command, args, { stdio: 'ignore', env }).status === 0
const found = (program) => succeeds('sh', '-c', `command -v ${program}`)
/** In a process of its own: native code stays loaded. */
const loads = (name) => succeeds(process.execPath, '-e', `require(${JSON.stringify(name)})`)
const architecture = { x64: 'x86_64', arm64: 'aarch64' }[process.arch] ?? process.arch

const parts = {
  pcscd: () => found('pcscd'),
  'vsmartcard-vpcd': () => existsSync('/usr/lib/pcsc/drivers/serial/libifdvpcd.so'),
  iproute2: () => found('ip'),
  'util-linux': () => found('unshare'),
  'nfc-pcsc or pcsc-mini': () => loads('nfc-pcsc') || loads(`@pcsc-mini/linux-${architecture}-gnu`),
}

/** What a pcscd of one's own with virtual readers wants, in words; undefined where nothing is missing. */
export function missingPcsc() {
  const missing = Object.keys(parts).filter((name) => !parts[name]())
  if (missing.length > 0)
    return `PC/SC with virtual readers is not installed (missing: ${missing.join(', ')}). As root, on Debian: node scripts/install-pcsc.mjs`
  const user = process.getuid() === 0 ? [] : ['--user', '--map-root-user']
  if (!succeeds('unshare', ...user, '--mount', '--net', '--pid', '--fork', 'true'))
    return 'pcscd runs in namespaces of its own, which are not allowed here. Run as root (in a container: with CAP_SYS_ADMIN), or allow user namespaces; node scripts/install-pcsc.mjs tells when it is right'
  return undefined
}
