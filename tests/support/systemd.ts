import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FakeSystemd {
  /** To be put first on PATH. */
  readonly bin: string
  /** The arguments of each call of systemctl. */
  calls(): string[]
  /** Each call of journalctl. */
  journalCalls(): string[]
  /** What the journal has of the service. */
  journal(lines: readonly string[]): void
  /** It no longer gets the service to start. */
  breakStart(): void
}

/**
 * A systemctl that knows whether the one service is enabled and active, and a journalctl with one file. They take what
 * the real ones take; tests/cli/daemon-install.test.ts holds their calls to the real ones.
 */
export const fakeSystemd = (home: string): FakeSystemd => {
  const bin = join(home, 'fake-bin')
  const state = join(home, 'fake-state')
  mkdirSync(bin)
  mkdirSync(state)
  const file = (name: string) => join(state, name)
  const script = (name: string, body: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\nS='${state}'\necho "$*" >> "$S/${name}"\n${body}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  script(
    'systemctl',
    `[ "$1" = --user ] && shift
case "$*" in
  'show --property=Version') echo Version=252;;
  daemon-reload) ;;
  'enable tapchip.service') touch "$S/enabled";;
  'is-enabled tapchip.service') [ -e "$S/enabled" ] && echo enabled || { echo disabled; exit 1; };;
  'is-active tapchip.service') [ -e "$S/active" ] && echo active || { echo inactive; exit 3; };;
  'restart tapchip.service')
    if [ -e "$S/broken" ]; then echo 'Job for tapchip.service failed.' >&2; exit 1; fi
    touch "$S/active";;
  'disable --now tapchip.service') rm -f "$S/enabled" "$S/active";;
  'reset-failed tapchip.service') echo 'Unit tapchip.service not loaded.' >&2; exit 1;;
  *) echo "Unknown command: $*" >&2; exit 1;;
esac`,
  )
  script(
    'journalctl',
    `case "$*" in *--after-cursor=s=1*) sed -n '$p' "$S/journal"; exec sleep 600;; esac
cat "$S/journal" 2>/dev/null
case "$*" in *--show-cursor*) echo '-- cursor: s=1';; esac`,
  )
  const read = (name: string) =>
    existsSync(file(name)) ? readFileSync(file(name), 'utf8').trimEnd().split('\n') : []
  return {
    bin,
    calls: () => read('systemctl'),
    journalCalls: () => read('journalctl'),
    journal: (lines) => writeFileSync(file('journal'), `${lines.join('\n')}\n`),
    breakStart: () => writeFileSync(file('broken'), ''),
  }
}
