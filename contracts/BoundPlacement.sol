// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

/// @title Puts a contract where nothing else can be, in one transaction
/// @notice Sent as creation code, like `Placement`. The address comes from the salt and from everything that is deployed
/// there, constructor arguments included (CREATE2). So whoever gets there first has deployed exactly this contract, and
/// then nothing is left to do.
contract BoundPlacement {
    /// @dev The deterministic deployment proxy: salt and creation code in, CREATE2 out.
    address private constant FACTORY = 0x4e59b44847b379578588920cA78FbF26c0B4956C;

    error NoFactory();
    /// @dev The contract's constructor reverted.
    error NotPlaced(address place);

    constructor(bytes32 salt, bytes memory creationCode) {
        if (FACTORY.code.length == 0) revert NoFactory();
        address place = address(
            uint160(uint256(keccak256(abi.encodePacked(hex"ff", FACTORY, salt, keccak256(creationCode)))))
        );
        bool done = place.code.length > 0;
        if (!done) (done, ) = FACTORY.call(abi.encodePacked(salt, creationCode));
        if (!done || place.code.length == 0) revert NotPlaced(place);
        assembly ("memory-safe") {
            return(0, 0)
        }
    }
}
