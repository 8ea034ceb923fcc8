/** How a chip may speak: each kind of template, with what set-up writes beside it. */
export interface TemplateKind {
  readonly template: string
  readonly tamper?: string
  /** The chip is a TagTamper with a closed loop. */
  readonly isTagTamper?: true
  /** The key set switches its chips to LRP mode. */
  readonly isLrp?: true
  /** What set-up puts behind {enc}. */
  readonly fileData?: string
  readonly aar?: string
  readonly text?: string
}

export const templateKinds: Readonly<Record<string, TemplateKind>> = {
  'MAC from the number of the key set': { template: '?^d={keySet}&e={picc}&c={mac}' },
  'MAC from the encrypted mirror, other names': { template: '?set={keySet}&^picc={picc}&mac={mac}' },
  'MAC over nothing, no number': { template: '?picc_data={picc}&cmac={mac}' },
  'plain mirror, MAC over nothing': { template: '?uid={uid}&ctr={ctr}&cmac={mac}' },
  'plain mirror, MAC from its value': { template: '?uid=^{uid}&ctr={ctr}&mac={mac}' },
  'plain mirror in one value': { template: '?m={uid}x{ctr}x{mac}' },
  'MAC from the start of the URL': {
    template: '^https://t.brand.example/424?uid={uid}&ctr={ctr}&c={mac}',
  },
  'MAC from the host': { template: 'https://^t.brand.example/x?v=1&e={picc}&lang=en&c={mac}' },
  'encrypted data': { template: '?picc_data={picc}&enc=^{enc}&cmac={mac}' },
  'a text as encrypted data': {
    template: 'https://t.brand.example/x?picc_data={picc}&enc=^{enc}&cmac={mac}',
    fileData: 'Jacket 17 of 500, made in Porto',
  },
  'encrypted data without separators': { template: '?e={picc}^{enc}{mac}' },
  'encrypted data beside a plain mirror': { template: '?u={uid}&n={ctr}&enc=^{enc}&c={mac}' },
  'status in the URL': {
    template: '?uid=^{uid}&ctr={ctr}&tamper={tt}&mac={mac}',
    isTagTamper: true,
  },
  'status in a parameter that other chips of the set lack': {
    template: '?^d={keySet}&e={picc}&c={mac}',
    isTagTamper: true,
  },
  'status in encrypted data': {
    template: '?picc_data={picc}&enc=^{enc}&cmac={mac}',
    tamper: 'enc:0',
    isTagTamper: true,
  },
  'status behind a text in encrypted data': {
    template: '?picc_data={picc}&enc=^{enc}&cmac={mac}',
    tamper: 'enc:30',
    fileData: 'No. 17',
    isTagTamper: true,
  },
  'LRP mode, MAC from the number of the key set': {
    template: '?^d={keySet}&e={picc}&c={mac}',
    isLrp: true,
  },
  'LRP mode, plain mirror': { template: '?uid=^{uid}&ctr={ctr}&mac={mac}', isLrp: true },
  'LRP mode, encrypted data': {
    template: '?e={picc}^{enc}{mac}',
    fileData: 'Jacket 17',
    isLrp: true,
  },
  'an app and a text behind the URL': {
    template: 'https://t.brand.example/x?e={picc}&c={mac}',
    aar: 'com.brand.app',
    text: 'Tap to see who made it – “Brand”',
  },
}
