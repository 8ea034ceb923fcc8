// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

/// @title Puts a contract where CREATE3 says it belongs, in one transaction
/// @notice Sent as creation code, so it needs no address of its own and leaves no code behind. Done in two transactions,
/// anyone could step in between; and a creation that fails inside the proxy would burn the address, since the proxy
/// does not revert. Here all of it reverts.
contract Placement {
    /// @dev The deterministic deployment proxy: salt and creation code in, CREATE2 out.
    address private constant FACTORY = 0x4e59b44847b379578588920cA78FbF26c0B4956C;
    /// @dev github.com/Agusx1211/create3: a proxy that creates what it is called with.
    bytes private constant PROXY = hex"67363d3d37363d34f03d5260086018f3";

    error NoFactory();
    /// @dev The contract's constructor reverted, or something else was created by the same proxy before.
    error NotPlaced(address place);

    /// @notice Where a contract stands already, nothing happens.
    constructor(bytes32 salt, bytes memory creationCode) {
        if (FACTORY.code.length == 0) revert NoFactory();
        address proxy = address(
            uint160(uint256(keccak256(abi.encodePacked(hex"ff", FACTORY, salt, keccak256(PROXY)))))
        );
        // RLP of [proxy, 1]: a contract's nonce begins at 1 (EIP-161).
        address place = address(uint160(uint256(keccak256(abi.encodePacked(hex"d694", proxy, hex"01")))));
        bool done = place.code.length > 0;
        if (!done && proxy.code.length == 0) (done, ) = FACTORY.call(abi.encodePacked(salt, PROXY));
        if (place.code.length == 0) (done, ) = proxy.call(creationCode);
        if (!done || place.code.length == 0) revert NotPlaced(place);
        assembly ("memory-safe") {
            return(0, 0)
        }
    }
}
