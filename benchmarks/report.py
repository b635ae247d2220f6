def report(samples, entrants, about):
    from collections import defaultdict
    from statistics import median

    d = defaultdict(list)
    for s in samples:
        d[s.scenario, s.contestant].append(s.cost)
    return "\n".join(f"{k[0]:12} {k[1]:14} {median(v) * 1e3:.3f} ms" for k, v in d.items())
