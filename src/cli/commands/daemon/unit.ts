import { type Scope, stateName } from '../../local-daemon.ts'

export interface UnitSettings {
  readonly scope: Scope
  /** Absolute paths. */
  readonly node: string
  readonly script: string
  readonly flags: readonly string[]
  readonly envFile: string
  /** Undefined: the StateDirectory. */
  readonly dataDir: string | undefined
  /** The user of a system service; undefined: systemd creates one (DynamicUser). */
  readonly runAs: string | undefined
  readonly port: number | undefined
  /** Something that the service reads is in a home. */
  readonly usesHomes: boolean
  /** The same for /tmp, which it then has in common with everybody. */
  readonly usesTmp: boolean
}

/** systemd.syntax(7), systemd.unit(5): `%` begins a specifier. */
const plain = (path: string): string => path.replaceAll('%', '%%')
const quoted = (text: string): string => `"${plain(text).replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
/** systemd.service(5): in arguments, `$` begins a variable; the path of the program is taken as it is. */
const argument = (text: string): string =>
  /^[\w./:@=-]+$/.test(text) ? text : quoted(text).replaceAll('$', '$$$$')
/** EnvironmentFile= takes a pattern, and quotes would be a part of it. */
const pattern = (path: string): string => plain(path).replace(/[*?[\]\\]/g, '\\$&')

export const unitText = (of: UnitSettings): string => {
  const isSystem = of.scope === 'system'
  const program = [quoted(of.node), ...[of.script, ...of.flags].map(argument)].join(' ')
  return `${[
    '# Written by "tapchip daemon install", which also replaces it. To add settings: systemctl edit',
    '[Unit]',
    'Description=Tapchip, the daemon for NFC chips that are tied to NFTs',
    ...(isSystem ? ['Wants=network-online.target', 'After=network-online.target time-sync.target'] : []),
    '',
    '[Service]',
    'Type=notify',
    '# The daemon notifies systemd by systemd-notify, a process of its own.',
    'NotifyAccess=all',
    `ExecStart=${program}`,
    `EnvironmentFile=-${pattern(of.envFile)}`,
    ...(isSystem ? userOf(of) : []),
    `StateDirectory=${stateName(of.scope)}`,
    'StateDirectoryMode=0700',
    'RuntimeDirectory=tapchip',
    'RuntimeDirectoryMode=0700',
    'UMask=0077',
    'Restart=on-failure',
    'RestartSec=2',
    '# A setting that is wrong stays wrong.',
    'RestartPreventExitStatus=2',
    '# It answers its last requests, and saves the embedded chain before that is ended.',
    'TimeoutStopSec=45',
    'KillMode=mixed',
    'WatchdogSec=120',
    '# A core dump would hold keys.',
    'LimitCORE=0',
    '',
    '# V8 compiles code while it runs, so MemoryDenyWriteExecute is not possible.',
    ...hardening,
    ...(of.usesTmp ? [] : ['PrivateTmp=yes']),
    `ProtectHome=${isSystem && !of.usesHomes ? 'yes' : 'read-only'}`,
    ...(isSystem ? systemHardening(of) : []),
    ...(of.dataDir === undefined ? [] : [`ReadWritePaths=${quoted(of.dataDir)}`]),
    '',
    '[Install]',
    `WantedBy=${isSystem ? 'multi-user' : 'default'}.target`,
    ...(of.dataDir === undefined ? [] : ['', '[X-Tapchip]', `DataDir=${of.dataDir}`]),
  ].join('\n')}\n`
}

const userOf = ({ runAs }: UnitSettings): string[] =>
  runAs === undefined ? ['DynamicUser=yes'] : [`User=${runAs}`]

/** A user's manager may set these too. What else there is it may not, and the service would not start. */
const hardening = [
  'NoNewPrivileges=yes',
  'ProtectSystem=strict',
  'LockPersonality=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  '# The embedded chain has a network namespace of its own.',
  'RestrictNamespaces=user net',
  'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallErrorNumber=EPERM',
]

const systemHardening = ({ port }: UnitSettings): string[] => {
  const isLow = port !== undefined && port > 0 && port < 1024
  return [
    `CapabilityBoundingSet=${isLow ? 'CAP_NET_BIND_SERVICE' : ''}`,
    ...(isLow ? ['AmbientCapabilities=CAP_NET_BIND_SERVICE'] : []),
    'PrivateDevices=yes',
    'ProtectClock=yes',
    'ProtectHostname=yes',
    'ProtectKernelLogs=yes',
    'ProtectKernelModules=yes',
    'ProtectKernelTunables=yes',
    'ProtectControlGroups=yes',
    'ProtectProc=invisible',
    'RemoveIPC=yes',
  ]
}
