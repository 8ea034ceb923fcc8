import { inLanguage } from '../../words/language.ts'

/** By the column or field of a plan. */
export const columnWords: Readonly<Record<string, string>> = inLanguage(
  {
    label: 'label',
    chipGroup: 'group',
    item: 'item',
    variant: 'variant',
    contractAddress: 'contract',
    chainId: 'chain',
    tokenId: 'token',
    redirectUrl: 'leads to',
    disabled: 'disabled',
    keySet: 'key set',
    owner: 'owner',
    recipient: 'recipient',
    metadata: 'metadata',
    assigned: 'assigned',
  },
  {
    label: 'Name',
    chipGroup: 'Gruppe',
    item: 'Artikel',
    variant: 'Variante',
    contractAddress: 'Vertrag',
    chainId: 'Chain',
    tokenId: 'Token',
    redirectUrl: 'führt zu',
    disabled: 'gesperrt',
    keySet: 'Schlüsselsatz',
    owner: 'gehört',
    recipient: 'Empfänger',
    metadata: 'Metadaten',
    assigned: 'zugeordnet',
  },
)
