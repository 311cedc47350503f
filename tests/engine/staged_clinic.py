"""A clinic attacked in stages, with two women who differ only in their jobs."""

FILES = {
    "people.csv": """age,sex,village,people
30,F,Dale,20
30,M,Dale,9
30,F,Hill,2
40,F,Dale,14
40,M,Dale,3
40,M,Hill,1
50,F,Dale,7
50,M,Hill,5
""",
    "people.toml": """kind = "counts"
file = "people.csv"
count = "people"
[columns]
age = "age"
sex = "sex"
village = "village"
""",
    # Two women of Hill differ only in their jobs.
    "patients.csv": """age,sex,village,work
30,F,Dale,clerk
30,M,Dale,miller
30,F,Hill,nurse
30,F,Hill,clerk
40,F,Dale,clerk
40,M,Dale,miller
40,M,Hill,smith
50,F,Dale,clerk
50,M,Hill,miller
""",
    "clinic.toml": """seed = 1
[population]
recipe = "people.toml"
[release]
path = "patients.csv"
[attributes.age]
hierarchy = { rule = "intervals", widths = [20] }
[attributes.sex]
hierarchy = { rule = "suppress" }
[attributes.village]
hierarchy = { rule = "suppress" }
[economics]
benefit = 100
loss = 150
cost = 20
[adversary]
stages = "attack.toml"
""",
    "directory.csv": """age,sex,village,job,people
30,F,Dale,clerk,12
30,F,Dale,baker,3
30,M,Dale,miller,6
30,F,Hill,nurse,2
40,F,Dale,clerk,9
40,M,Dale,miller,2
40,M,Hill,smith,1
50,F,Dale,clerk,4
50,M,Hill,baker,3
""",
    "register.csv": """years,job,people
30,clerk,14
30,baker,5
30,miller,6
30,nurse,2
40,clerk,10
40,miller,3
40,smith,1
50,clerk,5
50,baker,3
50,miller,2
""",
    "attack.toml": """
[columns]
job = "work"
[resources.directory]
file = "directory.csv"
count = "people"
[resources.register]
file = "register.csv"
count = "people"
columns = { age = "years" }
[[stages]]
stage = "infer-by-linkage"
resource = "directory"
infers = "job"
on = ["age", "sex", "village"]
[[stages]]
stage = "identify"
resource = "register"
on = ["age", "job"]
""",
}
