"""Twenty-five functions of a shop, for an agent with many tools: real signatures, documented, of many types.

Annotations are objects, not strings: some libraries read them as they stand.
"""

from typing import Literal


def search_products(text: str, category: str | None = None, max_price: float | None = None, in_stock: bool = True) -> str:
    """Search the catalogue.

    Args:
        text: What is searched for.
        category: Only in this category.
        max_price: Most that it may cost.
        in_stock: Whether it must be in stock.
    """
    return f"search_products {text} {category} {max_price} {in_stock}"


def product_details(product: str, language: str = "en") -> str:
    """Describe a product.

    Args:
        product: Identifier of the product.
        language: Language of the text.
    """
    return f"product_details {product} {language}"


def compare_products(products: list[str], properties: list[str] | None = None) -> str:
    """Compare products by some of their properties.

    Args:
        products: Identifiers of the products.
        properties: Which properties, or none for all.
    """
    return f"compare_products {products} {properties}"


def place_order(customer: int, product: str, count: int = 1, gift: bool = False) -> str:
    """Order a product.

    Args:
        customer: Number of the customer.
        product: Identifier of the product.
        count: How many.
        gift: Whether it is wrapped.
    """
    return f"place_order {customer} {product} {count} {gift}"


def order_status(order: str) -> str:
    """Say where an order is.

    Args:
        order: Number of the order.
    """
    return f"order_status {order}"


def change_order(order: str, count: int | None = None, address: str | None = None) -> str:
    """Change an order that was not sent.

    Args:
        order: Number of the order.
        count: The new count.
        address: The new address.
    """
    return f"change_order {order} {count} {address}"


def cancel_order(order: str, reason: str = "not given") -> str:
    """Cancel an order.

    Args:
        order: Number of the order.
        reason: Why.
    """
    return f"cancel_order {order} {reason}"


def track_parcel(parcel: str, carrier: Literal["post", "courier"] = "post") -> str:
    """Say where a parcel is.

    Args:
        parcel: Number of the parcel.
        carrier: Who carries it.
    """
    return f"track_parcel {parcel} {carrier}"


def return_item(order: str, items: list[str], condition: Literal["new", "used", "broken"] = "new") -> str:
    """Begin a return.

    Args:
        order: Number of the order.
        items: What comes back.
        condition: In what condition.
    """
    return f"return_item {order} {items} {condition}"


def refund_payment(payment: str, amount: float, note: str | None = None) -> str:
    """Pay money back.

    Args:
        payment: Number of the payment.
        amount: How much.
        note: What the customer is told.
    """
    return f"refund_payment {payment} {amount} {note}"


def apply_discount(basket: str, code: str) -> str:
    """Apply a discount code to a basket.

    Args:
        basket: Identifier of the basket.
        code: The code.
    """
    return f"apply_discount {basket} {code}"


def add_to_basket(basket: str, product: str, count: int = 1) -> str:
    """Put a product into a basket.

    Args:
        basket: Identifier of the basket.
        product: Identifier of the product.
        count: How many.
    """
    return f"add_to_basket {basket} {product} {count}"


def empty_basket(basket: str) -> str:
    """Take everything out of a basket.

    Args:
        basket: Identifier of the basket.
    """
    return f"empty_basket {basket}"


def check_stock(product: str, warehouse: Literal["north", "south", "all"] = "all") -> str:
    """Say how many of a product there are.

    Args:
        product: Identifier of the product.
        warehouse: Where.
    """
    return f"check_stock {product} {warehouse}"


def notify_when_available(customer: int, product: str, by: Literal["email", "sms"] = "email") -> str:
    """Tell a customer when a product is back.

    Args:
        customer: Number of the customer.
        product: Identifier of the product.
        by: How.
    """
    return f"notify_when_available {customer} {product} {by}"


def write_review(product: str, stars: int, text: str = "") -> str:
    """Publish a review.

    Args:
        product: Identifier of the product.
        stars: From 1 to 5.
        text: What is said.
    """
    return f"write_review {product} {stars} {text}"


def read_reviews(product: str, stars: list[int] | None = None, limit: int = 10) -> str:
    """List reviews of a product.

    Args:
        product: Identifier of the product.
        stars: Only with so many stars.
        limit: At most so many.
    """
    return f"read_reviews {product} {stars} {limit}"


def customer_profile(customer: int, with_orders: bool = False) -> str:
    """Look a customer up.

    Args:
        customer: Number of the customer.
        with_orders: Whether orders are listed too.
    """
    return f"customer_profile {customer} {with_orders}"


def change_address(customer: int, street: str, town: str, country: str = "IS") -> str:
    """Change where a customer lives.

    Args:
        customer: Number of the customer.
        street: Street and number.
        town: Name of the town.
        country: Country code.
    """
    return f"change_address {customer} {street} {town} {country}"


def change_email(customer: int, email: str, verify: bool = True) -> str:
    """Change the address that a customer reads.

    Args:
        customer: Number of the customer.
        email: The new address.
        verify: Whether a mail with a link is sent first.
    """
    return f"change_email {customer} {email} {verify}"


def send_invoice(order: str, email: str | None = None, as_pdf: bool = True) -> str:
    """Send an invoice again.

    Args:
        order: Number of the order.
        email: Where to, or none for the customer's own.
        as_pdf: Whether as a file.
    """
    return f"send_invoice {order} {email} {as_pdf}"


def open_ticket(customer: int, subject: str, body: str, priority: Literal["low", "normal", "high"] = "normal") -> str:
    """Open a ticket for the people in support.

    Args:
        customer: Number of the customer.
        subject: What it is about.
        body: What happened.
        priority: How urgent.
    """
    return f"open_ticket {customer} {subject} {body} {priority}"


def close_ticket(ticket: int, solution: str) -> str:
    """Close a ticket.

    Args:
        ticket: Number of the ticket.
        solution: How it was solved.
    """
    return f"close_ticket {ticket} {solution}"


def call_back(customer: int, time: str, topics: list[str]) -> str:
    """Plan a call to a customer.

    Args:
        customer: Number of the customer.
        time: When, as YYYY-MM-DD HH:MM.
        topics: What it is about.
    """
    return f"call_back {customer} {time} {topics}"


def loyalty_points(customer: int, year: int | None = None) -> str:
    """Say how many points a customer has.

    Args:
        customer: Number of the customer.
        year: Only of this year.
    """
    return f"loyalty_points {customer} {year}"


SHOP = [
    search_products,
    product_details,
    compare_products,
    place_order,
    order_status,
    change_order,
    cancel_order,
    track_parcel,
    return_item,
    refund_payment,
    apply_discount,
    add_to_basket,
    empty_basket,
    check_stock,
    notify_when_available,
    write_review,
    read_reviews,
    customer_profile,
    change_address,
    change_email,
    send_invoice,
    open_ticket,
    close_ticket,
    call_back,
    loyalty_points,
]
