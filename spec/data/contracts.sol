// SPDX-License-Identifier: MIT
// What the specs of `moonplan send` deploy on a node of their own. Compiled in contracts.json.
pragma solidity ^0.8.0;

// ERC-20, as far as plans call it.
contract Token {
    mapping(address => uint256) public balanceOf;
    mapping(address => mapping(address => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    error InsufficientBalance(address holder, uint256 balance, uint256 needed);
    error InsufficientAllowance(address spender, uint256 allowed, uint256 needed);

    constructor(uint256 supply) {
        balanceOf[msg.sender] = supply;
    }

    function approve(address spender, uint256 amount) public virtual returns (bool) {
        allowance[msg.sender][spender] = amount;
        emit Approval(msg.sender, spender, amount);
        return true;
    }

    function transfer(address to, uint256 amount) public virtual returns (bool) {
        move(msg.sender, to, amount);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) public virtual returns (bool) {
        uint256 allowed = allowance[from][msg.sender];
        if (allowed < amount) revert InsufficientAllowance(msg.sender, allowed, amount);
        allowance[from][msg.sender] = allowed - amount;
        move(from, to, amount);
        return true;
    }

    function move(address from, address to, uint256 amount) internal {
        uint256 balance = balanceOf[from];
        if (balance < amount) revert InsufficientBalance(from, balance, amount);
        balanceOf[from] = balance - amount;
        balanceOf[to] += amount;
        emit Transfer(from, to, amount);
    }
}

// An allowance has to be taken back before another is given.
contract StrictToken is Token {
    constructor(uint256 supply) Token(supply) {}

    function approve(address spender, uint256 amount) public override returns (bool) {
        require(amount == 0 || allowance[msg.sender][spender] == 0, "approve from non-zero to non-zero");
        return super.approve(spender, amount);
    }
}

// Says false instead of reverting.
contract FalseToken is Token {
    constructor(uint256 supply) Token(supply) {}

    function transfer(address to, uint256 amount) public override returns (bool) {
        if (balanceOf[msg.sender] < amount) return false;
        return super.transfer(to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        if (balanceOf[from] < amount || allowance[from][msg.sender] < amount) return false;
        return super.transferFrom(from, to, amount);
    }
}

// Swaps with the functions of a Uniswap V2 router, at two for one, out of what it holds.
contract Router {
    receive() external payable {}

    modifier ensure(uint256 deadline) {
        require(deadline >= block.timestamp, "UniswapV2Router: EXPIRED");
        _;
    }

    function swapExactTokensForTokens(
        uint256 amountIn, uint256 amountOutMin, address[] calldata path, address to, uint256 deadline
    ) external ensure(deadline) returns (uint256[] memory amounts) {
        amounts = quote(amountIn, amountOutMin, path);
        take(path[0], amountIn);
        require(Token(path[path.length - 1]).transfer(to, amounts[1]), "UniswapV2: TRANSFER_FAILED");
    }

    function swapExactTokensForETH(
        uint256 amountIn, uint256 amountOutMin, address[] calldata path, address to, uint256 deadline
    ) external ensure(deadline) returns (uint256[] memory amounts) {
        amounts = quote(amountIn, amountOutMin, path);
        take(path[0], amountIn);
        (bool sent, ) = to.call{value: amounts[1]}("");
        require(sent, "TransferHelper: ETH_TRANSFER_FAILED");
    }

    function swapExactETHForTokens(
        uint256 amountOutMin, address[] calldata path, address to, uint256 deadline
    ) external payable ensure(deadline) returns (uint256[] memory amounts) {
        amounts = quote(msg.value, amountOutMin, path);
        require(Token(path[path.length - 1]).transfer(to, amounts[1]), "UniswapV2: TRANSFER_FAILED");
    }

    function quote(uint256 amountIn, uint256 amountOutMin, address[] calldata path)
        private pure returns (uint256[] memory amounts)
    {
        require(path.length == 2, "UniswapV2Library: INVALID_PATH");
        amounts = new uint256[](2);
        amounts[0] = amountIn;
        amounts[1] = amountIn / 2;
        require(amounts[1] >= amountOutMin, "UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT");
    }

    function take(address token, uint256 amount) private {
        require(
            Token(token).transferFrom(msg.sender, address(this), amount),
            "TransferHelper: TRANSFER_FROM_FAILED"
        );
    }
}

// Does what is asked when it is only tried, at a gas price of zero, and reverts when it is sent.
contract Moody {
    error Later(uint256 price);

    function act() external view {
        if (tx.gasprice != 0) revert Later(7);
    }

    function refuse() external pure {
        revert("never");
    }
}
