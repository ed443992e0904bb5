#!/usr/bin/python3
"""Compares our TOML reader with Python's tomllib over generated and mutated documents.

usage: toml_diff.py TOML_DUMP [--count N] [--seed N]

Both must accept the same documents and read the same types, values and order of keys from them.
Allowed differences, told by value: integers beyond 64 bits, numbers beyond a double and more than
128 levels of nesting are refused by ours. The output is TAP.
"""
import argparse
import datetime
import json
import math
import random
import subprocess
import sys
import time
import tomllib

MAX_DEPTH = 128
ROUND = 20000  # documents per process of ours

# Hand-made: every construct of the specification, and what is next to it but wrong.
SEEDS = [
    'title = "TOML"\n[owner]\nname = "Tom"\ndob = 1979-05-27T07:32:00-08:00\n',
    'a = 1\nb = +99\nc = -17\nd = 1_000\ne = 0xDEAD_beef\nf = 0o755\ng = 0b1101\nh = -0\n',
    'a = 1.0\nb = -0.01\nc = 5e+22\nd = 6.626e-34\ne = 1E06\nf = 9_224.5_1\ng = -0.0\n',
    'a = inf\nb = +inf\nc = -inf\nd = nan\ne = +nan\nf = -nan\n',
    'a = true\nb = false\n',
    'a = 1979-05-27T07:32:00Z\nb = 1979-05-27 07:32:00.999999\nc = 1979-05-27\nd = 07:32:00.5\n',
    'a = 2000-02-29\nb = 2001-02-28t23:59:59.123456789z\nc = 0001-01-01T00:00:00+00:00\n',
    'a = "\\b\\t\\n\\f\\r\\"\\\\\\u00e9\\U0001F600"\n',
    'a = """\none\\\n   \n  two\r\nthree "" four"""""\n',
    "a = 'C:\\x'\nb = '''\nI '' you'''''\n",
    'a = [1, 2, ] # c\nb = [\n 1, # one\n [2, "x"], {c = 1}\n]\nc = []\n',
    'a = { b = 1, c.d = 2, "e f" = [ { } ] }\n',
    'a.b.c = 1\na.b.d = 2\na . "e" . \'f\' = 3\n',
    '[a.b]\nx = 1\n[a]\ny = 2\n[a.c]\n',
    '[[a]]\nb = 1\n[[a.c]]\nd = 1\n[[a.c]]\n[a.e]\n[[a]]\n[a.e]\n',
    '[a]\nb.c = 1\n[a.b.d]\ne = 1\n',
    '"" = 1\n"a.b" = 2\n1.2 = 3\n-_- = 4\n',
    '\ufeffa = 1\n', 'a = 1\r\nb = 2\r\n', 'a = 1\rb = 2', '# only a comment', '', '\t \n',
    'é = 1\n', '"é" = "日本"\n', "a = '\x7f'", 'a = "\x00"', '# \x1f\n', 'a = "\x1b"',
    'a = 1\na = 2\n', '[a]\n[a]\n', 'a.b = 1\n[a]\n', 'a = {}\n[a.b]\n', 'a = []\n[[a]]\n',
    '[a.b.c]\n[a]\nb.x = 1\n[a.b]\n', '[[a.b]]\n[a]\nb.c = 1\n', 'a = 9223372036854775807\n',
    'a = 9223372036854775808\nb = -9223372036854775808\n', 'a = 1e400\n', 'a = 1e-400\n',
    'a = 2023-02-29\n', 'a = 24:00:00\n', 'a = 0000-01-01\n', 'a = 00:00:60\n',
    'a = {b = 1, b.c = 2}', 'a = {b = {}, b.c = 2}', 'a = [1 2]', 'a = {b = 1,}', 'a = {\n}',
    'a = 01', 'a = 1__0', 'a = 0x', 'a = .5', 'a = 5.', 'a = 1e', 'a = +0x1', 'a = tru',
    'a = "\\uD800"', 'a = "\\x41"', 'a = "\\u12"', 'a = """\\ x"""', 'a = """"""""', "a = ''''''''",
    '[ a . b ]\n[[ c ]]\n', '[a] b = 1', '[[a] ]', '[]', '[a', 'a = 1 b = 2', '= 1', 'a', 'a =',
]
TOKENS = ['a', 'b', '"c"', "'d'", '=', '.', ',', '[', ']', '[[', ']]', '{', '}', '\n', '\r\n', '\r',
          ' ', '\t', '#', '"', "'", '"""', "'''", '\\', '\\n', '\\u0041', '\\\n', '0', '1', '-', '+',
          '_', '0x', 'e', ':', 'T', 'Z', 'inf', 'nan', 'true', 'false', '1979-05-27', '07:32:00',
          '.5', 'é', '\x00', '\x7f', '\ufeff', '😀', 'a.b = 1\n', '[a]\n', '[[a]]\n', '[a.b]\n',
          '9223372036854775807', '1e308']
KEYS = ['a', 'b', 'c', '"a"', "'b'", 'd1', '"x y"', '-', '0']
SCALARS = ['1', '-0', '0x1F', '0o17', '0b1', '1_0', '1.5', '-1e3', '2.5E-1_0', 'inf', '-nan', 'true',
           'false', '"s"', '"\\t\\u00e9"', "'l'", '"""m\n n\\\n  o"""', "'''x\ny'''", '1979-05-27',
           '1979-05-27T07:32:00Z', '1979-05-27 07:32:00.25+02:30', '23:59:59', '""', "''",
           '9223372036854775807', '-9223372036854775808', '0.1', '3.141592653589793']


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.many_keys = False

    def key(self):
        if self.many_keys:
            return 'k%d' % self.r.randrange(1000)
        return self.r.choice(KEYS) if self.r.random() < 0.3 else self.r.choice('abc')

    def path(self, most):
        n = self.r.randint(1, most)
        return self.r.choice(['.', '.', '.', ' . ']).join(self.key() for _ in range(n))

    def number(self):
        r = self.r
        digits = '%d' % r.getrandbits(r.randint(1, 66))
        kind = r.randrange(5)
        if kind == 0:
            return r.choice(['', '-', '+']) + digits
        if kind == 1:
            return '%#x' % int(digits)
        if kind == 2:
            return repr(math.ldexp(r.random(), r.randint(-1080, 1024)))
        if kind == 3:
            return '%s.%de%d' % (digits, r.getrandbits(20), r.randint(-330, 310))
        return '%04d-%02d-%02dT%02d:%02d:%02d' % (
            r.randint(0, 9999), r.randint(0, 13), r.randint(0, 32), r.randint(0, 24),
            r.randint(0, 60), r.randint(0, 60))

    def value(self, depth):
        x = self.r.random()
        if depth > 3 or x < 0.6:
            return self.r.choice(SCALARS)
        if x < 0.7:
            return self.number()
        n = self.r.randint(0, 3)
        if x < 0.85:
            gap = self.r.choice([' ', '', '\n', ' # c\n'])
            items = (',' + gap).join(self.value(depth + 1) for _ in range(n))
            return '[' + gap + items + self.r.choice(['', gap]) + ']'
        return '{' + ', '.join(self.pair(depth + 1, 2) for _ in range(n)) + '}'

    def pair(self, depth, most):
        return self.path(most) + self.r.choice([' = ', '=']) + self.value(depth)

    def document(self):
        """Mostly few keys, so that the rules about defining something twice are at work."""
        self.many_keys = self.r.random() < 0.4
        lines = []
        for _ in range(self.r.randint(1, 7)):
            x = self.r.random()
            if x < 0.25:
                lines.append('[' + self.path(3) + ']')
            elif x < 0.4:
                lines.append('[[' + self.path(3) + ']]')
            else:
                lines.append(self.pair(0, 3))
        return self.r.choice(['\n', '\n', '\n', '\r\n']).join(lines)

    def mutate(self, text):
        r = self.r
        for _ in range(r.choice([1, 1, 1, 2, 3])):
            at, end = sorted((r.randint(0, len(text)), r.randint(0, len(text))))
            end = min(end, at + 8)
            kind = r.randrange(5)
            if kind == 0:
                text = text[:at] + r.choice(TOKENS) + text[at:]
            elif kind == 1:
                text = text[:at] + text[end:]
            elif kind == 2:
                text = text[:at] + r.choice(TOKENS) + text[end:]
            elif kind == 3:
                text = text[:end] + text[at:]
            else:
                text = text[:at] + r.choice(SEEDS)[at % 40:]
        return text

    def next(self):
        x = self.r.random()
        if x < 0.35:
            return self.document().encode()
        text = self.document() if x < 0.7 else self.r.choice(SEEDS)
        data = self.mutate(text).encode()
        if x > 0.97:  # below the level of characters
            at = self.r.randint(0, len(data))
            data = data[:at] + bytes([self.r.randrange(256)]) + data[at + self.r.randint(0, 1):]
        return data


class BeyondLimits(Exception):
    pass


def parse_float(text):
    number = float(text)
    if math.isinf(number) and 'inf' not in text:
        raise BeyondLimits
    return number


def check_limits(value, depth=1):
    """Raises BeyondLimits when a value holds what our reader refuses on purpose."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not -2**63 <= value < 2**63:
            raise BeyondLimits
    elif isinstance(value, (dict, list)):
        if depth > MAX_DEPTH:
            raise BeyondLimits
        for item in value.values() if isinstance(value, dict) else value:
            check_limits(item, depth + 1)


def clock_text(t):
    text = t.strftime('%H:%M:%S')
    return text + ('.%06d' % t.microsecond).rstrip('0') if t.microsecond else text


def date_text(value):
    if isinstance(value, datetime.time):
        return clock_text(value)
    text = '%04d-%02d-%02d' % (value.year, value.month, value.day)
    if not isinstance(value, datetime.datetime):
        return text
    text += 'T' + clock_text(value)
    if value.tzinfo:
        minutes = value.utcoffset() // datetime.timedelta(minutes=1)
        text += 'Z' if minutes == 0 else '%s%02d:%02d' % (
            '-' if minutes < 0 else '+', abs(minutes) // 60, abs(minutes) % 60)
    return text


def tagged(value):
    """A value of tomllib in the form that toml_dump writes."""
    if isinstance(value, dict):
        return {k: tagged(v) for k, v in value.items()}
    if isinstance(value, list):
        return ['a', *map(tagged, value)]
    if isinstance(value, float):
        return ['f', 'nan' if math.isnan(value) else value]
    if isinstance(value, (datetime.date, datetime.time)):
        return ['d', date_text(value)]
    return value


def same(ours, theirs):
    if type(ours) is not type(theirs):
        if isinstance(theirs, float) and isinstance(ours, str):
            x = float.fromhex(ours)
            return x == theirs and math.copysign(1, x) == math.copysign(1, theirs)
        return False
    if isinstance(ours, dict):
        return list(ours) == list(theirs) and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


def expected(data):
    """What tomllib makes of a document: its tagged value, or None when it refuses."""
    try:
        value = tomllib.loads(data.decode(), parse_float=parse_float)
        check_limits(value)
    except BeyondLimits:
        return None, True
    except (ValueError, RecursionError):
        return None, False
    return tagged(value), False


def deep_documents():
    """The bound on nesting, for each way to nest, at it and one past it."""
    for n in (MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1):
        yield 'a = %s%s' % ('[' * n, ']' * n)
        yield 'a = %s1%s' % ('{a=' * n, '}' * n)
        yield '.'.join('a' * n) + ' = 1'
        yield '[%s]' % '.'.join('a' * n)
        yield '[[%s]]' % '.'.join('a' * n)
        yield '[%s]\nb = []' % '.'.join('a' * n)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('dump')
    parser.add_argument('--count', type=int, default=100000)
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    generator = Generator(args.seed)
    documents = [s.encode() for s in [*SEEDS, *deep_documents()]]
    done = accepted = limits = wrong = 0
    start = time.monotonic()
    while done < args.count:
        documents += [generator.next() for _ in range(min(ROUND, args.count - done) - len(documents))]
        feed = b''.join(b'%d\n%s' % (len(d), d) for d in documents)
        answers = subprocess.run([args.dump], input=feed, stdout=subprocess.PIPE, check=True).stdout
        answers = answers.split(b'\n')[:-1]
        if len(answers) != len(documents):
            sys.exit('Bail out! %d answers for %d documents' % (len(answers), len(documents)))
        for data, answer in zip(documents, answers):
            theirs, limit = expected(data)
            ours = None if answer.startswith(b'error ') else json.loads(answer)
            limits += limit
            accepted += ours is not None
            if not same(ours, theirs):
                wrong += 1
                if wrong <= 20:
                    print('# document %r\n#   ours   %s\n#   theirs %r' % (
                        data, answer.decode(errors='replace'), theirs))
        done += len(documents)
        documents = []
    print('# seed %d: %d documents, %d accepted by both, %d beyond our limits, %.1f s' % (
        args.seed, done, accepted, limits, time.monotonic() - start))
    print('%sok 1 - same answers as tomllib (%d differ)' % ('not ' if wrong else '', wrong))
    # A generator that makes only good or only bad documents would prove nothing.
    mixed = done * 0.2 < accepted < done * 0.8 and limits > 0
    print('%sok 2 - documents are good and bad in turn' % ('' if mixed else 'not '))
    print('1..2')
    return 1 if wrong or not mixed else 0


if __name__ == '__main__':
    sys.exit(main())
