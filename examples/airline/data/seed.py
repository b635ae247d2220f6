"""The tables, and what is in them at first. Always the same, so that every conversation can be repeated."""

from __future__ import annotations

NOW = "2027-05-10 09:00"

SCHEMA = """
CREATE TABLE customer (
    number TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    phone TEXT NOT NULL,
    email TEXT NOT NULL,
    address TEXT NOT NULL,
    status TEXT NOT NULL,
    since INTEGER NOT NULL,
    credit INTEGER NOT NULL DEFAULT 0 CHECK (credit >= 0)
) STRICT;
CREATE TABLE flight (
    id INTEGER PRIMARY KEY,
    number TEXT NOT NULL,
    origin TEXT NOT NULL,
    destination TEXT NOT NULL,
    departure TEXT NOT NULL,
    UNIQUE (number, departure)
) STRICT;
CREATE TABLE rule (
    fare TEXT PRIMARY KEY,
    refundable INTEGER NOT NULL CHECK (refundable IN (0, 1)),
    changes INTEGER NOT NULL CHECK (changes >= 0)
) STRICT;
CREATE TABLE fare (
    flight INTEGER NOT NULL REFERENCES flight (id),
    name TEXT NOT NULL REFERENCES rule (fare),
    cents INTEGER NOT NULL CHECK (cents > 0),
    PRIMARY KEY (flight, name)
) STRICT;
CREATE TABLE booking (
    code TEXT PRIMARY KEY,
    customer TEXT NOT NULL REFERENCES customer (number),
    flight INTEGER NOT NULL,
    fare TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'booked' CHECK (status IN ('booked', 'refunded', 'credited')),
    changed INTEGER NOT NULL DEFAULT 0,
    FOREIGN KEY (flight, fare) REFERENCES fare (flight, name)
) STRICT;
CREATE TABLE seat (
    flight INTEGER NOT NULL REFERENCES flight (id),
    place TEXT NOT NULL,
    booking TEXT UNIQUE REFERENCES booking (code),
    PRIMARY KEY (flight, place)
) STRICT;
CREATE TABLE payment (
    id INTEGER PRIMARY KEY,
    booking TEXT NOT NULL REFERENCES booking (code),
    kind TEXT NOT NULL CHECK (kind IN ('ticket', 'fare difference', 'refund', 'credits')),
    cents INTEGER NOT NULL CHECK (cents <> 0),
    due TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX given_back_once ON payment (booking) WHERE kind IN ('refund', 'credits');
CREATE TABLE bag (
    tag TEXT PRIMARY KEY,
    booking TEXT NOT NULL REFERENCES booking (code),
    place TEXT,
    searched TEXT,
    deliver_to TEXT
) STRICT;
"""

# Ida may do everything. Tomas has the cheapest fare, Nadia's other flight is full, Piet's only flight has departed.
# `bag` holds the bags that were checked in and not collected.
SEED = """
INSERT INTO customer (number, name, phone, email, address, status, since) VALUES
    ('40217', 'Ida Moreau', '+1 617 555 0142', 'ida.moreau@example.com', '12 Harbor Street, Boston', 'silver', 2019),
    ('40311', 'Tomas Lindqvist', '+1 617 555 0177', 'tomas.lindqvist@example.com', '3 Orchard Lane, Cambridge', 'basic', 2025),
    ('40502', 'Nadia Haddad', '+351 555 0118', 'nadia.haddad@example.com', '8 Rua do Sol, Lisbon', 'gold', 2014),
    ('40777', 'Piet de Vries', '+1 617 555 0190', 'piet.devries@example.com', '77 Mill Road, Salem', 'basic', 2026);
INSERT INTO rule VALUES ('light', 0, 0), ('standard', 1, 1), ('flex', 1, 3);
INSERT INTO flight VALUES
    (1, '1408', 'Lisbon (LIS)', 'Boston (BOS)', '2027-05-03 11:30'),
    (2, '1917', 'Boston (BOS)', 'Lisbon (LIS)', '2027-05-20 15:00'),
    (3, '1919', 'Boston (BOS)', 'Lisbon (LIS)', '2027-05-21 15:00'),
    (4, '1424', 'Lisbon (LIS)', 'Boston (BOS)', '2027-06-03 11:30'),
    (5, '1426', 'Lisbon (LIS)', 'Boston (BOS)', '2027-06-04 11:30');
INSERT INTO fare VALUES
    (1, 'light', 31000), (1, 'standard', 39000), (1, 'flex', 52000),
    (2, 'light', 38000), (2, 'standard', 46000), (2, 'flex', 61000),
    (3, 'light', 34000), (3, 'standard', 42000), (3, 'flex', 56000),
    (4, 'light', 33000), (4, 'standard', 41000), (4, 'flex', 55000),
    (5, 'light', 33000), (5, 'standard', 41000), (5, 'flex', 55000);
INSERT INTO booking (code, customer, flight, fare) VALUES
    ('MA2F8K', '40217', 3, 'standard'), ('MA7T3B', '40217', 1, 'standard'),
    ('MA4Q9L', '40311', 3, 'light'), ('MA8W5N', '40311', 1, 'light'),
    ('MA3D7R', '40311', 4, 'light'), ('MA6H2C', '40502', 5, 'flex'),
    ('MA9P4X', '40777', 1, 'standard');
INSERT INTO seat VALUES
    (1, '10A', 'MA7T3B'), (1, '10B', 'MA8W5N'), (1, '10C', 'MA9P4X'),
    (2, '14A', NULL), (2, '14C', NULL), (2, '21F', NULL),
    (3, '14C', 'MA2F8K'), (3, '30E', 'MA4Q9L'), (3, '30F', NULL),
    (4, '31D', 'MA3D7R'),
    (5, '02A', 'MA6H2C'), (5, '02B', NULL);
INSERT INTO payment (booking, kind, cents, due) VALUES
    ('MA2F8K', 'ticket', 42000, '2027-02-01 10:00'), ('MA7T3B', 'ticket', 39000, '2027-02-01 10:00'),
    ('MA4Q9L', 'ticket', 34000, '2027-03-15 18:20'), ('MA8W5N', 'ticket', 31000, '2027-03-15 18:20'),
    ('MA3D7R', 'ticket', 33000, '2027-03-15 18:20'), ('MA6H2C', 'ticket', 55000, '2027-04-02 08:45'),
    ('MA9P4X', 'ticket', 39000, '2027-01-20 12:00');
INSERT INTO bag (tag, booking, place) VALUES ('MA0451', 'MA7T3B', 'Lisbon airport'), ('MA0460', 'MA8W5N', NULL);
"""
