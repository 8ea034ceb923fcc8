declare const __TAPCHIP_VERSION__: string

/** The version of the package, put in when the executables are built. */
export const version: string = __TAPCHIP_VERSION__
