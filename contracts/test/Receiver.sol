// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

/// @title A recipient that behaves as a test tells it
contract Receiver {
    enum Mood {
        Accept,
        Refuse,
        BurnGas,
        CallBack
    }

    Mood private _mood;
    address private _target;
    bytes[] private _calls;

    /// @notice How often a token arrived.
    uint256 public received;
    /// @notice How many of the calls made on arrival went through.
    uint256 public callsDone;
    /// @notice What the last call that failed said.
    bytes public lastError;

    error NotToday();

    function behave(Mood mood, address target, bytes[] memory calls) external {
        _mood = mood;
        _target = target;
        _calls = calls;
    }

    /// @notice Acts as the holder.
    function act(address target, bytes calldata data) external {
        (bool ok, bytes memory result) = target.call(data);
        if (!ok) {
            assembly ("memory-safe") {
                revert(add(result, 0x20), mload(result))
            }
        }
    }

    function onERC721Received(address, address, uint256, bytes calldata) external returns (bytes4) {
        _arrive();
        return this.onERC721Received.selector;
    }

    function onERC1155Received(address, address, uint256, uint256, bytes calldata) external returns (bytes4) {
        _arrive();
        return this.onERC1155Received.selector;
    }

    function _arrive() private {
        if (_mood == Mood.Refuse) revert NotToday();
        while (_mood == Mood.BurnGas) {}
        // Calls made from inside calls would never end.
        if (++received > 1 || _mood != Mood.CallBack) return;
        for (uint256 i = 0; i < _calls.length; ++i) {
            (bool ok, bytes memory result) = _target.call(_calls[i]);
            if (ok) ++callsDone;
            else lastError = result;
        }
    }
}
