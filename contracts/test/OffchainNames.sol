// SPDX-License-Identifier: MIT
pragma solidity ^0.8.37;

/// @title A universal resolver whose every answer lies with gateways (ERC-3668), as a test tells it
contract OffchainNames {
    enum Way {
        Plain, // names its gateways, as a resolver does
        Batched, // leaves them to the client's own batch gateway, as ENS's universal resolver does
        Endless // never has enough
    }

    /// @dev What a batch gateway is asked.
    struct Query {
        address sender;
        string[] urls;
        bytes data;
    }

    Way private _way;
    string[] private _urls;

    error OffchainLookup(
        address sender,
        string[] urls,
        bytes callData,
        bytes4 callbackFunction,
        bytes extraData
    );
    error HttpError(uint16 status, string message);
    error ResolverError(bytes errorData);

    function behave(Way way, string[] memory urls) external {
        _way = way;
        _urls = urls;
    }

    function resolveWithGateways(
        bytes calldata,
        bytes calldata data,
        string[] calldata gateways
    ) external view returns (bytes memory, address) {
        if (_way != Way.Batched) _ask(data);
        Query[] memory queries = new Query[](1);
        queries[0] = Query(address(this), _urls, data);
        bytes memory callData = abi.encodeWithSignature("query((address,string[],bytes)[])", queries);
        revert OffchainLookup(address(this), gateways, callData, this.answered.selector, "");
    }

    function answered(bytes calldata response, bytes calldata extraData)
        external
        view
        returns (bytes memory, address)
    {
        if (_way == Way.Endless) _ask(extraData);
        if (_way == Way.Plain) return (response, address(this));
        (bool[] memory failures, bytes[] memory responses) = abi.decode(response, (bool[], bytes[]));
        if (!failures[0]) return (responses[0], address(this));
        bytes memory failure = responses[0];
        if (bytes4(failure) != HttpError.selector) revert ResolverError(failure);
        assembly ("memory-safe") {
            revert(add(failure, 0x20), mload(failure))
        }
    }

    function _ask(bytes memory data) private view {
        revert OffchainLookup(address(this), _urls, data, this.answered.selector, data);
    }
}
