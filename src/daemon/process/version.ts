declare const __TAPCHIP_VERSION__: string

/** Replaced by the package's version at build time. */
export const version: string = __TAPCHIP_VERSION__
