-- Users, tables and rows of the shop. record.py runs the statements one by one. Amounts are euro cents.
-- First drop the accounts that carry the name of this machine.
DELETE FROM mysql.global_priv WHERE Host NOT IN ('localhost', '127.0.0.1');
DELETE FROM mysql.proxies_priv WHERE Host NOT IN ('localhost', '127.0.0.1');
FLUSH PRIVILEGES;
CREATE DATABASE shop;
USE shop;
CREATE TABLE product (
  sku INT PRIMARY KEY,
  name VARCHAR(80) NOT NULL,
  price_cents INT NOT NULL
);
CREATE TABLE stock (
  sku INT PRIMARY KEY,
  qty INT NOT NULL,
  counted_qty INT NULL,
  counted_at DATETIME NULL
);
CREATE TABLE orders (
  id INT AUTO_INCREMENT PRIMARY KEY,
  request_id CHAR(32) NOT NULL,
  customer_id INT NOT NULL,
  sku INT NOT NULL,
  paid_cents INT NOT NULL,
  ordered_at DATETIME NOT NULL,
  KEY (request_id)
);
CREATE TABLE order_history (
  id INT PRIMARY KEY,
  sku INT NOT NULL,
  paid_cents INT NOT NULL,
  KEY (sku)
);
INSERT INTO product
  SELECT seq,
         CONCAT(ELT(1 + seq % 5, 'oak', 'ash', 'pine', 'beech', 'elm'), ' ',
                ELT(1 + seq % 7, 'chair', 'table', 'shelf', 'bench', 'lamp',
                    'box', 'frame'), ' no. ', seq),
         500 + seq * 37 % 20000
  FROM seq_1_to_3000;
INSERT INTO stock (sku, qty) SELECT seq, 100000 FROM seq_1_to_3000;
INSERT INTO order_history
  SELECT seq, 1 + seq * 7919 % 3000, 500 + seq * 31 % 20000
  FROM seq_1_to_2000000;
CREATE USER shop@127.0.0.1 IDENTIFIED BY 'shop';
CREATE USER report@127.0.0.1 IDENTIFIED BY 'report';
GRANT SELECT, INSERT, UPDATE ON shop.* TO shop@127.0.0.1;
GRANT SELECT ON shop.* TO report@127.0.0.1;
